"""Programs that bring a plain reply into a form, and what none of them does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatt.data.catalog.programs import FILLERS, PROGRAMS, QUESTIONS, TITLES, apply_program
from gatt.data.catalog.read import load_catalog
from gatt.verifiers.text.words import words

PLAIN = "A spider has eight legs. It spins."


def made(name: str, reply: str, **params: Any) -> str | None:
    return apply_program(json.dumps({"name": name, **params}), reply)


@pytest.mark.parametrize(
    ("name", "params", "reply", "expected"),
    [
        ("starts", {"text": "Well now,"}, PLAIN, "Well now, a spider has eight legs. It spins."),
        ("starts", {"text": "Well now,"}, "Rex is a dog.", "Well now, Rex is a dog."),
        ("starts", {"text": "Answer:"}, PLAIN, "Answer: A spider has eight legs. It spins."),
        ("ends", {"text": "Cheers!"}, "Eight", "Eight. Cheers!"),
        (
            "ends",
            {"text": "Bye.", "start": "Dear all,", "gap": "\n"},
            "It is 8.",
            "Dear all,\nit is 8.\nBye.",
        ),
        ("wraps", {"left": '"', "right": '"'}, 'I say "8".', "\"I say '8'.\""),
        ("wraps", {"left": "<a>", "right": "</a>"}, "- **Eight** legs", "<a>Eight legs</a>"),
        ("parts", {"n": 2, "mark": "- "}, PLAIN, "- A spider has eight legs.\n- It spins."),
        (
            "parts",
            {"n": 2, "numbered": True},
            f"{PLAIN} So.",
            "1. A spider has eight legs.\n2. It spins. So.",
        ),
        ("parts", {"mark": "> "}, PLAIN, "> A spider has eight legs.\n> It spins."),
        ("exactly", {"n": 1}, PLAIN, "A spider has eight legs; it spins."),
        ("bounds", {"most_sentences": 1}, PLAIN, "A spider has eight legs."),
        ("bounds", {"most_words": 6}, PLAIN, "A spider has eight legs."),
        ("bounds", {"most_words": 4}, PLAIN, None),
        ("bounds", {"most_characters": 10}, PLAIN, None),
        ("cased", {"case": "lower"}, "I saw Rex.", "i saw rex."),
        ("cased", {"case": "title"}, "I don't well-know.", "I Don't Well-know."),
        ("cased", {"case": "upper", "unit": "word"}, PLAIN, "A spider has eight legs. It spins."),
        ("cased", {"case": "upper", "unit": "sentence"}, PLAIN, "A SPIDER HAS EIGHT LEGS. It spins."),
        ("replaces", {"old": "and", "new": "plus"}, "Sand and tea. And milk.", "Sand plus tea. Plus milk."),
        ("replaces", {"old": ",", "new": ""}, "Well, tea, then.", "Well tea then."),
        ("spells", {}, "In 1969, 21 of 8.", "In one thousand nine hundred sixty-nine, twenty-one of eight."),
        ("spells", {}, "At 7:30.", None),
        ("digits", {}, "Eight of twenty-two.", "8 of twenty-two."),
        ("digits", {}, "It spins.", None),
        ("as_json", {"key": "say"}, 'A "leg".', '{"say": "A \\"leg\\"."}'),
        ("as_json", {"key": "a", "other": "b", "value": "c"}, "So.", '{"a": "So.", "b": "c"}'),
        ("marks_sentences", {"mark": "!"}, PLAIN, "A spider has eight legs! It spins!"),
        ("joins_words", {"by": "-"}, PLAIN, "A-spider-has-eight-legs-It-spins"),
    ],
)  # fmt: skip
def test_a_plain_reply_in_its_form(name, params, reply, expected) -> None:
    assert made(name, reply, **params) == expected


def test_what_is_added_depends_on_the_reply_and_never_stands_twice() -> None:
    asked = {(made("asks", f"Reply {n}.") or "").partition(". ")[2] for n in range(60)}
    assert asked == set(QUESTIONS)
    long = made("bounds", FILLERS[0], least_words=20) or ""
    assert long.startswith(FILLERS[0])
    assert long.count(FILLERS[0]) == 1
    titled = (made("titled", PLAIN, left="<<", right=">>") or "").split("\n\n")
    assert titled[0].strip("<>") in TITLES
    assert titled[1:] == [PLAIN]


@pytest.mark.parametrize(
    ("program", "error"),
    [
        ('{"name": "sings"}', ValueError),
        ("[]", ValueError),
        ('{"name": "asks", "n": 1}', TypeError),
        ('{"name": "starts"}', TypeError),
    ],
)
def test_a_program_that_cannot_be_is_an_error(program: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        apply_program(program, PLAIN)


WORD = st.sampled_from([
    "a", "spider", "has", "eight", "legs", "and", "Rex", "likes", "green", "tea", "with", "you", "in",
    "Paris",
])  # fmt: skip
SENTENCE = st.lists(WORD, min_size=4, max_size=12).map(
    lambda some: " ".join(some).capitalize() + "."
)
KEEPING = [
    (entry.id, entry.program)
    for entry in load_catalog().entries
    if entry.program
    # They cut it, or write words otherwise.
    if json.loads(entry.program)["name"] not in ("bounds", "replaces", "spells", "digits")
]


@given(st.lists(SENTENCE, min_size=1, max_size=4).map(" ".join))
def test_a_program_keeps_every_word_in_order(reply: str) -> None:
    for name, program in KEEPING:
        text = apply_program(program, reply)
        assert text is not None, name
        said = iter(word.lower() for word in words(text.replace("*", " ").replace("/", " ")))
        assert all(word.lower() in said for word in words(reply)), (name, text)


def test_every_program_is_used_by_the_catalogue() -> None:
    used = {json.loads(e.program)["name"] for e in load_catalog().entries if e.program}
    assert used == set(PROGRAMS)
