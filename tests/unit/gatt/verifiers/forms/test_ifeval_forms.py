"""The rules of form that IFEval asks for: edges of each, evidence, refused parameters."""

from __future__ import annotations

from typing import Any

import pytest

from gatt.errors import VerifierError
from gatt.verifiers import build
from gatt.verifiers.spec import VerifierSpec


@pytest.mark.parametrize(
    ("kind", "params", "reply", "status"),
    [
        ("characters", {"character": "É", "min": 1}, "un été très chaud", "pass"),
        ("characters", {"character": "e", "min": 1}, "un bon chat, là", "fail"),
        ("characters", {"character": "#", "max": 0}, "I like #tea", "fail"),
        ("capital_words", {"min": 1}, "I am, and so is A.", "fail"),
        ("capital_words", {"min": 1}, "in the U.S. of old", "pass"),
        ("capital_words", {"min": 1, "max": 1}, "a WELL-KNOWN fact", "pass"),
        ("capital_words", {"min": 1}, "ÜBER alles", "pass"),
        ("highlights", {"min": 1}, "* one\n* two", "fail"),
        ("highlights", {"min": 1}, "2 * 3 * 4 is so", "fail"),
        ("highlights", {"min": 1, "max": 1}, "it is ***so*** good", "pass"),
        ("highlights", {"min": 1}, "it is ** so ** good", "fail"),
        ("highlights", {"min": 1}, "it is \\*so\\* good", "fail"),
        ("highlights", {"min": 1}, "it is *so\ngood* yes", "fail"),
        ("highlights", {"min": 1}, "a snake_case_name here", "fail"),
        ("highlights", {"min": 2, "max": 2}, "* an *item* with **two**", "pass"),
        ("highlights", {"min": 1}, "a *!* is none", "fail"),
        ("highlights", {"min": None, "max": 1}, "no mark at all", "pass"),
        ("placeholders", {"min": 1}, "see [here](a.html)", "fail"),
        ("placeholders", {"min": 1}, "a fact [1] [^note]", "fail"),
        ("placeholders", {"min": 1}, "- [x] done\n- [ ] open", "fail"),
        ("placeholders", {"min": 2}, "Dear [name][surname]", "pass"),
        ("placeholders", {"min": 1}, "a list [of\nthings]", "fail"),
        ("title", {}, "**<<Tea>>**\nI like it.", "pass"),
        ("title", {}, "<<<Tea>>> is what I like", "pass"),
        ("title", {}, "<<A\nB>> I like it", "fail"),
        ("title", {"min": None, "max": 1}, "<<A>> and <<B>>", "fail"),
        ("sections", {"marker": "Section", "min": 1}, "as Section 1 says", "fail"),
        ("sections", {"marker": "Section", "min": 1}, "Section 10: tea", "pass"),
        ("sections", {"marker": "Section", "min": 1}, "Sections 1 and 2", "fail"),
        ("sections", {"marker": "Section", "min": 1}, "Section 1st of many", "fail"),
        ("sections", {"marker": "Section", "max": 1}, "no section here", "pass"),
        ("sections", {"marker": "DAY OFF", "min": 1}, "> **DAY  OFF 1**\nsleep", "pass"),
        ("postscript", {"marker": "P.S."}, "Tea.\np.s. milk", "pass"),
        ("postscript", {"marker": "P.S."}, "Tea.\nP.P.S. milk", "fail"),
        ("postscript", {"marker": "P.S."}, "Tea.\nP.S. milk\nP.S.", "fail"),
        ("postscript", {"marker": "P.S."}, "Tea.\nPS5 is a toy", "fail"),
        ("postscript", {"marker": "P.S."}, "Tea it is! **P.S.** Milk.", "pass"),
        ("postscript", {"marker": "P.S."}, "Tea it is, see the P.S. Milk.", "fail"),
        ("postscript", {"marker": "P.S."}, "Tea it is. P.P.S. Milk.", "fail"),
        ("postscript", {"marker": "P.S."}, "Tea it is. P. P. S. Milk.", "fail"),
        ("postscript", {"marker": "P.S."}, "Tea it is. P.S. means more.", "fail"),
        ("postscript", {"marker": "P.S."}, "Tea it is. P.S.", "fail"),
        ("postscript", {"marker": "Note:"}, "Tea.\n**Note:** milk", "pass"),
        ("postscript", {"marker": "Note:"}, "Tea.\nNotes on milk", "fail"),
        ("responses", {}, "Tea. ****** Milk.", "pass"),
        ("responses", {}, "Tea.\n*******\nMilk.", "fail"),
        ("responses", {"num": 3, "divider": "---"}, "Tea.\n---\nMilk.\n---\nBread.", "pass"),
        ("one_of", {"options": ["yes", "no"]}, ' "Yes!" ', "pass"),
        ("one_of", {"options": ["yes", "no"]}, "yes no", "fail"),
        ("repeats", {"text": "Why?"}, "Why? Because.", "pass"),
        ("repeats", {"text": "Why"}, "Whyever not?", "fail"),
        ("repeats", {"text": "Why"}, "Why not?", "pass"),
        ("repeats", {"text": "Why? Tell me."}, "Why, tell me. Because.", "fail"),
        ("repeats", {"text": "Why?"}, '"Why?" Because.', "fail"),
        ("repeats", {"text": "Why?"}, "Why? 😊", "fail"),
        ("paragraph_start", {"paragraph": 1, "any_of": ["tea"]}, "Tea is good.", "pass"),
        ("paragraph_start", {"paragraph": 2, "any_of": ["tea"]}, "Tea is good.", "fail"),
        ("paragraph_start", {"paragraph": 2, "any_of": ["🍵"]}, "So:\n\n🍵 it is", "pass"),
        ("json", {}, '{"a": NaN}', "fail"),
        ("json", {}, '["tea"', "fail"),
        ("json", {}, "[" * 15_000 + '"tea"', "fail"),
    ],
)
def test_edge_cases(kind: str, params: dict[str, Any], reply: str, status: str) -> None:
    verdict = build(VerifierSpec(kind, params)).check(reply)
    assert verdict.status == status, verdict


@pytest.mark.parametrize(
    ("kind", "params", "reply", "evidence"),
    [
        ("characters", {"character": "k", "max": 1}, "I like milk", "k"),
        ("capital_words", {"min": 1}, "a WELL-KNOWN fact", "WELL-KNOWN"),
        ("highlights", {"min": 1}, "it is **so** good", "**so**"),
        ("placeholders", {"min": 1}, "Dear [name], hello", "[name]"),
        ("title", {}, "# <<Tea>>\nI like it", "<<Tea>>"),
        ("sections", {"marker": "Part", "min": 1}, "**Part 1** tea", "Part 1"),
        ("postscript", {"marker": "P.S."}, "Tea.\n*P.S. milk*\n", "P.S. milk*"),
        ("postscript", {"marker": "P.S."}, "Tea it is. (P.S. Milk.)", "P.S. Milk.)"),
        ("paragraphs", {"min": 1, "divider": "***"}, "a\n***\n--\n***\nb", "--"),
        ("responses", {}, "Tea.\n******\ntea!", "tea!"),
        ("one_of", {"options": ["so"]}, " **so** ", "**so**"),
        ("repeats", {"text": "Why so?"}, " **Why  so?** Well.", "Why  so?"),
        ("paragraph_start", {"paragraph": 2, "any_of": ["tea"]}, "So.\n\n*Tea* it is", "Tea"),
    ],
)
def test_the_span_shows_the_evidence(
    kind: str, params: dict[str, Any], reply: str, evidence: str
) -> None:
    verdict = build(VerifierSpec(kind, params)).check(reply)
    assert verdict.span is not None
    assert reply[slice(*verdict.span)] == evidence


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        ("characters", {"character": "ab", "min": 1}, "'character' is 'ab': expected a single"),
        ("characters", {"character": " ", "min": 1}, "'character' is ' ': expected a single"),
        ("characters", {"character": "a"}, "neither 'min' nor 'max'"),
        ("capital_words", {"min": -1}, "'min' is -1: expected a whole number from 0 up"),
        ("highlights", {"min": 0}, "'min' is 0: expected a whole number from 1 up"),
        ("sections", {"marker": "--", "min": 1}, "'marker' is '--': expected a word"),
        ("postscript", {"marker": ""}, "'marker' is '': expected a text such as 'P.S.'"),
        ("responses", {"num": 1}, "'num' is 1: expected a whole number from 2 up"),
        ("responses", {"divider": "a b"}, "'divider' is 'a b': expected marks"),
        ("one_of", {"options": []}, r"'options' is \[\]: expected texts with words"),
        ("one_of", {"options": ["yes", "!"]}, "expected texts with words"),
        ("one_of", {"options": "yes"}, "'options' is 'yes': expected a list"),
        ("repeats", {"text": "?"}, r"'text' is '\?': expected what is to be repeated"),
        ("paragraph_start", {"paragraph": 0, "any_of": ["a"]}, "'paragraph' is 0"),
        ("paragraph_start", {"paragraph": 1, "num": True, "any_of": ["a"]}, "'num' is True"),
        ("paragraph_start", {"paragraph": 3, "num": 2, "any_of": ["a"]}, "3 is above 'num' 2"),
        ("paragraph_start", {"paragraph": 1, "any_of": []}, "'any_of' is empty"),
        ("json", {"keys": ["a"]}, "has no parameter 'keys'"),
    ],
)
def test_refused_parameters(kind: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(VerifierError, match=message):
        build(VerifierSpec(kind, params))
