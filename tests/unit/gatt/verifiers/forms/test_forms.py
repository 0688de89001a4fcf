"""The rules of form: counts, edges, case, exclusions, lists, marks, JSON, haiku."""

from __future__ import annotations

from typing import Any

import pytest

from gatt.errors import VerifierError
from gatt.verifiers import build
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.text.syllables import syllables
from gatt.verifiers.text.words import words


def test_words_of_several_scripts() -> None:
    assert words("I don't like well-known 3.14, ok?") == ["I", "don't", "like", "well-known",
                                                           "3.14", "ok"]  # fmt: skip
    assert words("我喜欢tea") == ["我", "喜", "欢", "tea"]
    assert len(words("नमस्ते दुनिया")) == 2


@pytest.mark.parametrize(
    ("word", "number"),
    [("cat", 1), ("silence", 2), ("water", 2), ("apple", 2), ("jumped", 1), ("wanted", 2),
     ("poet", 2), ("lion", 2), ("nation", 2), ("the", 1), ("beautiful", 3), ("moonlight", 2),
     ("queen", 1), ("leaves", 1), ("don't", 1)],
)  # fmt: skip
def test_syllables(word: str, number: int) -> None:
    assert syllables(word) == number


@pytest.mark.parametrize(
    ("kind", "params", "reply", "status"),
    [
        ("words", {"max": 3}, "I like tea", "pass"),
        ("words", {"max": 3}, "I like green tea", "fail"),
        ("words", {"min": 4}, "- I like tea", "fail"),
        ("words", {"max": 3}, "See https://example.org/a/b/c?d=e#f now", "pass"),
        ("words", {"max": 15}, "Sure!", "pass"),
        (
            "haiku",
            {},
            "A poem, someone's,\nlovely and quiet at dawn\nsomething stays awhile",
            "pass",
        ),
        ("letter_case", {"case": "upper"}, "THE 2ª TIME AT 20ºC", "pass"),
        ("sentences", {"max": 1}, "It is approx. 5 km from Ft. Worth, i. e. far.", "pass"),
        ("sentences", {"min": 2, "max": 2}, "Do this first. 2. Then do that.", "pass"),
        ("excludes", {"characters": ["7"]}, "It was ７ of them then.", "fail"),
        ("excludes", {"characters": ["2"]}, "It is five km² in all.", "fail"),
        ("excludes", {"characters": ["9"]}, "It was in ١٩٦٩ they say.", "fail"),
        ("excludes", {"characters": ["!"]}, "You did it ‼ I am glad.", "fail"),
        ("starts_with", {"any_of": ["Short answer:"]}, "Short answer:", "fail"),
        ("starts_with", {"any_of": ["Short answer:"]}, "Short answer questions are fun.", "fail"),
        ("starts_with", {"any_of": ["Short answer:"]}, "**Short answer**\nTea.", "pass"),
        (
            "ends_with",
            {"any_of": ["That is all I know."]},
            "I doubt if that is all I know.",
            "fail",
        ),
        ("ends_with", {"any_of": ["Over and out."]}, "The sea is cold, over and out", "pass"),
        ("number", {"min": 1}, "It covers ７１ percent.", "pass"),
        ("emoji", {"min": 1}, "The brand Tea™ → milk", "fail"),
        ("lines", {"max": 1}, "one line\n", "pass"),
        ("paragraphs", {"max": 1}, "one\r\n\r\ntwo", "fail"),
        ("paragraphs", {"min": 3, "divider": "***"}, "a b\n***\nc d\n***\ne f", "pass"),
        ("paragraphs", {"min": 2, "divider": "***"}, "a b *** c d", "pass"),
        ("paragraphs", {"min": 1, "divider": "***"}, "a b\n***\n---\n***\nc d", "fail"),
        ("haiku", {}, "Old pond\nA frog jumps\nSound", "fail"),
        ("letter_case", {"case": "lower"}, "123", "fail"),
        ("letter_case", {"case": "lower"}, "我喜欢喝茶。", "undecided"),
        ("letter_case", {"case": "lower"}, "très bien, Été", "fail"),
        ("excludes", {"characters": [","]}, "Yes.", "undecided"),
        ("excludes", {"characters": [","]}, "Yes, sir.", "fail"),
        ("excludes", {"terms": ["art"]}, "Let us start now.", "pass"),
        ("bullets", {"min": 2}, "- one\n- two", "pass"),
        ("bullets", {"min": 2}, "**one**\n**two**", "fail"),
        ("bullets", {"min": 1}, "text\n- \n- ", "fail"),
        ("bullets", {"min": None, "max": 1}, "no list at all", "pass"),
        ("bullets", {"min": 1, "numbered": False}, "1. one\n2. two", "fail"),
        ("bullets", {"min": 1, "max": 1, "numbered": False}, "1. one\n   - two\n---", "pass"),
        ("starts_with", {"any_of": ["Art"]}, "Artful as ever", "fail"),
        ("starts_with", {"any_of": ["Indeed,"]}, "**Indeed** it is", "pass"),
        ("starts_with", {"any_of": ["🐟"]}, "🐟 Swim on!", "pass"),
        ("starts_with", {"any_of": ["🐟"]}, "Swim 🐟 on!", "fail"),
        ("starts_with", {"any_of": ["你好"]}, "你好，朋友", "pass"),
        ("ends_with", {"any_of": ["art"]}, "Let us start.", "fail"),
        ("ends_with", {"any_of": ["Any questions?"]}, "Done. *Any questions?*", "pass"),
        ("ends_with", {"any_of": ["!!!"]}, "Well done!!!", "pass"),
        ("ends_with", {"any_of": ["C++"]}, "I write C++.", "pass"),
        ("starts_with", {"any_of": ["AI:"], "exact": True}, "*AI*:  I like tea.", "pass"),
        ("starts_with", {"any_of": ["AI:"], "exact": True}, "AI is no topic of mine.", "fail"),
        ("starts_with", {"any_of": ["'AI'"], "exact": True}, "‘AI’ is two letters.", "pass"),
        ("starts_with", {"any_of": ["**AI"], "exact": True}, "***AI is two letters.", "fail"),
        ("starts_with", {"any_of": ["-Art"], "exact": True}, "-Artful as ever", "fail"),
        ("starts_with", {"any_of": ["#你"], "exact": True}, "#你好，朋友", "pass"),
        ("ends_with", {"any_of": ["[A  B]"], "exact": True}, "That is all.\n[A B]\n", "pass"),
        ("ends_with", {"any_of": ["art>"], "exact": True}, "Let us <start>", "fail"),
        ("ends_with", {"any_of": ["<*"], "exact": True}, "Swim on! <*", "pass"),
        ("ends_with", {"any_of": ["<*"], "exact": True}, "Swim on! <**", "fail"),
        ("ends_with_question", {}, 'He asked: "Why?"', "pass"),
        ("ends_with_question", {}, "Why? Because.", "fail"),
        ("json_object", {}, '{"a": NaN}', "fail"),
        ("json_object", {}, '{"a": {"b": "c"}}', "pass"),
        ("json_object", {}, '{"a":' * 3000 + "1", "fail"),
        ("wrapped", {"left": "'", "right": "'"}, "'I don't know'", "pass"),
        ("wrapped", {"left": "'", "right": "'"}, "'I know' and 'you know'", "fail"),
        ("wrapped", {"left": "<<", "right": ">>"}, "<<a <<b>> c>>", "pass"),
        ("wrapped", {"left": "(a", "right": "a)"}, "(a - a)", "fail"),
        ("emoji", {"min": 2}, "I like 😊 and 👍🏽", "pass"),
        ("emoji", {"min": 2}, "One family 👨‍👩‍👧 only", "fail"),
        ("emoji", {"min": None, "max": 1}, "No emoji here", "pass"),
        ("number", {"min": 1}, "It is B2B and covid19", "fail"),
        ("number", {"min": 2, "max": 2}, "From 1,000 to 3.14", "pass"),
    ],
)
def test_edge_cases(kind: str, params: dict[str, Any], reply: str, status: str) -> None:
    verdict = build(VerifierSpec(kind, params)).check(reply)
    assert verdict.status == status, verdict


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        ("words", {}, "neither 'min' nor 'max': expected at least one"),
        ("words", {"min": -1}, "'min' is -1: expected a whole number from 0 up"),
        ("lines", {"max": 2.5}, "'max' is 2.5"),
        ("sentences", {"min": True}, "'min' is True"),
        ("paragraphs", {"min": 3, "max": 1}, "'min' 3 is above 'max' 1"),
        ("bullets", {"min": 0}, "'min' is 0: expected a whole number from 1 up"),
        ("bullets", {"numbered": 1}, "'numbered' is 1: expected true or false"),
        ("paragraphs", {"min": 1, "divider": "* *"}, r"'divider' is '\* \*': expected marks"),
        ("paragraphs", {"min": 1, "divider": ""}, "'divider' is '': expected marks"),
        ("emoji", {"min": None}, "neither 'min' nor 'max'"),
        ("number", {"min": "1"}, "'min' is '1'"),
        ("letter_case", {"case": "title"}, "unknown case 'title': expected one of lower, upper"),
        ("excludes", {}, "nothing to exclude"),
        ("excludes", {"characters": ["ab"]}, "expected a list of single characters"),
        ("excludes", {"characters": ","}, "expected a list of single characters"),
        ("excludes", {"terms": "tea"}, "'terms' is 'tea': expected a list of texts"),
        ("starts_with", {"any_of": []}, "'any_of' is empty"),
        ("ends_with", {"any_of": "bye"}, "'any_of' is 'bye': expected a list"),
        ("ends_with", {"any_of": ["bye"], "exact": 1}, "'exact' is 1: expected true or false"),
        ("json_object", {"keys": [1]}, "'keys' holds 1: expected texts only"),
        ("wrapped", {"left": " ", "right": "x"}, "'left' is ' ': expected a mark"),
        ("wrapped", {"left": "x", "right": 3}, "'right' is 3: expected a mark"),
        ("haiku", {"lines": 3}, "has no parameter 'lines'"),
    ],
)
def test_refused_parameters(kind: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(VerifierError, match=message):
        build(VerifierSpec(kind, params))
