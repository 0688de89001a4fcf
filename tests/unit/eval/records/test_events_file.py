"""Kinds of events: the file that is shipped, how they are dealt out, and what is wrong in others."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from eval.records.case import Case
from eval.records.events import EventKind, EventText, read_event_kinds, with_events
from gatt.data.instruction import Instruction
from gatt.errors import ConfigError
from gatt.verifiers import build
from gatt.verifiers.spec import VerifierSpec
from tests.support.runs.stages import dialogue

TURNS = (2, 4, 6, 8)


def instruction(*verifiers: VerifierSpec, family: str = "hobby") -> Instruction:
    return Instruction(
        id=f"{family}.x", text="Do.", wording="terse", entries=("x",), families=(family,),
        split="train", verifiers=verifiers,
    )  # fmt: skip


TENNIS = instruction(VerifierSpec("terms", {"any_of": ["tennis"]}))
FRENCH = instruction(VerifierSpec("language", {"language": "fr"}), family="language")
NO_DIGITS = instruction(VerifierSpec("excludes", {"characters": list("0123456789")}))


def cases(found: Instruction | None, num: int) -> list[Case]:
    return [Case(str(n), dialogue(n, 10), found, None) for n in range(num)]


def kinds(**expected: str) -> dict[str, EventKind]:
    """Return kinds by name, each with what it expects and the families it is meant for."""
    return {
        name: EventKind(words.split()[0], (EventText(f"{name}?"),), tuple(words.split()[1:]))  # type: ignore[arg-type]
        for name, words in expected.items()
    }


def test_the_shipped_kinds_say_what_should_happen() -> None:
    shipped = read_event_kinds()
    assert {k: v.expect for k, v in shipped.items()} == {
        "topic_jump": "kept", "other_language": "kept", "quoted_instruction": "kept",
        "asks_to_drop": "released",
    }  # fmt: skip
    for text in shipped["quoted_instruction"].texts:
        (spec,) = text.verifiers
        obeyed = spec.params["of"]["options"][0]
        assert build(spec).check(obeyed).status == "fail"
        assert build(spec).check("That is a strange thing to write, I think.").status == "pass"
    for found in shipped.values():
        assert len({t.text for t in found.texts}) == len(found.texts) >= 5


def test_kinds_take_turns_and_one_that_releases_comes_last() -> None:
    turns_of = kinds(a="kept", drop="released", b="kept", c="kept")
    found = with_events(cases(TENNIS, 30), turns_of, TURNS, random.Random(0))
    at = Counter((turn, e.kind) for c in found for turn, e in c.events.items())
    assert at == {(8, "drop"): 30} | {(t, k): 10 for t in (2, 4, 6) for k in "abc"}
    assert found[0].expected(7) == "kept"
    assert [found[0].expected(t) for t in (8, 9, 10)] == ["released"] * 3
    assert found[0].user_turn(8) == "drop?"
    assert found[0].user_turn(9) == found[0].dialogue.user_turns[8]
    assert found[0].reference(8) is None
    assert found[0].reference(9) == found[0].dialogue.replies[8]


def test_what_cannot_be_told_is_left_out() -> None:
    some = kinds(a="kept", drop="released", words="kept language")
    (found,) = with_events(cases(NO_DIGITS, 1), some, TURNS, random.Random(0))
    assert [e.kind for e in found.events.values()] == ["a"] * 4
    assert with_events(cases(None, 1), some, TURNS, random.Random(0))[0].events == {}


def test_a_text_in_the_language_that_is_asked_for_is_no_distraction() -> None:
    texts = (EventText("Bonjour ?", "fr"), EventText("Hallo?", "de"))
    found = with_events(cases(FRENCH, 20), {"o": EventKind("kept", texts)}, TURNS, random.Random(0))
    assert {e.text for c in found for e in c.events.values()} == {"Hallo?"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1]", r"e\.yaml line 1: a: .*\[1\]"),
        ("a: {expect: kept, text: [x]}", r"'text', did you mean 'texts'\?"),
        ("a: {expect: keep, texts: [{text: x}]}", "'expect' is 'keep'.*kept.*released"),
        ("a: {expect: kept}", "'texts'"),
        ("a: {expect: kept, texts: [{text: ''}]}", "'texts.0.text': ''"),
        ("a: {expect: kept, texts: [{text: x, verifiers: 3}]}", "'texts.0.verifiers': 3"),
        ("a: {expect: kept, texts: [{text: x, verifiers: [{kind: trems}]}]}",
         "'texts.0.verifiers': verifier 1: .*'terms'"),
        ("a: {expect: released, texts: [{text: x, verifiers: [{kind: terms, any_of: [y]}]}]}",
         "a: texts with verifiers"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_file_is_one_line(tmp_path, text, message) -> None:
    (tmp_path / "e.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        read_event_kinds(tmp_path / "e.yaml")
