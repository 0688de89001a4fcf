"""The loose reading: what it forgives, and that it only ever turns a fail into a pass."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatt.errors import VerifierError
from gatt.verifiers import check_all, overall
from gatt.verifiers.lenient import check_loose
from gatt.verifiers.negative_controls import JUNK
from gatt.verifiers.spec import VerifierSpec

JSON = VerifierSpec("json")
LOWER = VerifierSpec("letter_case", {"case": "lower"})
SHORT = VerifierSpec("words", {"max": 5})


@pytest.mark.parametrize(
    ("spec", "reply"),
    [
        (JSON, '{"a": "tea"}'),
        (JSON, 'Sure, here it is:\n{"a": "tea"}'),
        (JSON, '{"a": "tea"}\nAnything else?'),
        (JSON, 'Here:\n\n{"a": "tea"}\n\nAnything else?'),
        (JSON, '**{"a": "tea"}**'),
        (JSON, 'Here:\n*{"a": "tea"}*\nBye.'),
        (LOWER, "Sure!\ni like tea"),
        (SHORT, "Here is what you have asked me for:\nI like tea."),
    ],
)
def test_a_frame_and_asterisks_are_forgiven(spec: VerifierSpec, reply: str) -> None:
    assert check_loose([spec], reply) == "pass"


@pytest.mark.parametrize(
    ("spec", "reply"),
    [
        (JSON, 'Sure, here it is: {"a": "tea"}'),
        (JSON, 'Sure.\nHere it is:\n{"a": "tea"}'),
        (LOWER, "I like tea"),
    ],
)
def test_nothing_else_is(spec: VerifierSpec, reply: str) -> None:
    assert check_loose([spec], reply) == "fail"


def test_each_spec_has_a_reading_of_its_own() -> None:
    # Short without its first line, three lines with it.
    reply = "Here is what you have asked me for:\nI like tea.\nBye."
    assert check_loose([SHORT, VerifierSpec("lines", {"min": 3})], reply) == "pass"
    assert check_loose([SHORT, VerifierSpec("lines", {"min": 4})], reply) == "fail"


def test_undecided_is_not_read_again() -> None:
    # Without its last line this one would pass.
    spec = VerifierSpec("all", {"of": [LOWER.as_dict(), SHORT.as_dict()]})
    assert check_loose([spec], "我喜欢喝茶。\n你呢") == "fail"
    assert check_loose([LOWER], "我喜欢喝茶。") == "undecided"
    assert check_loose([], "I like tea.") == "undecided"


def test_one_undecided_spec_leaves_it_undecided() -> None:
    assert (
        check_loose([LOWER, VerifierSpec("lines", {"max": 1})], "我喜欢。\n喝茶。") == "undecided"
    )


@pytest.mark.parametrize("reply", JUNK, ids=range(len(JUNK)))
def test_junk_fails(reply: str) -> None:
    assert check_loose([VerifierSpec("words", {"max": 1000})], reply) == "fail"


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["I", "like", "tea", "*", "\n", ".", "{}", "我"])).map(" ".join))
def test_it_only_turns_fails_into_passes(reply: str) -> None:
    for spec in (JSON, LOWER, SHORT):
        strict = overall(check_all([spec], reply))
        loose = check_loose([spec], reply)
        assert loose == strict or (strict, loose) == ("fail", "pass")


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(VerifierError, match="unknown verifier kind 'jason', did you mean 'json'"):
        check_loose([VerifierSpec("jason")], "I like tea.")
