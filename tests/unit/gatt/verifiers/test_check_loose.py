"""The loose reading: what it forgives, and that it only ever turns a fail into a pass."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_synth.catalog_check import JUNK
from gatt.verifiers import check_all, overall
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.table import check_loose

JSON = VerifierSpec("json_object")
LOWER = VerifierSpec("letter_case", {"case": "lower"})
SHORT = VerifierSpec("words", {"max": 5})


def lines(**bounds: Any) -> VerifierSpec:
    return VerifierSpec("lines", bounds)


@pytest.mark.parametrize(
    ("specs", "reply", "status"),
    [
        ([JSON], 'Sure, here it is:\n{"a": "tea"}', "pass"),
        ([JSON], 'Here:\n\n{"a": "tea"}\n\nAnything else?', "pass"),
        ([JSON], 'Here:\n*{"a": "tea"}*\nBye.', "pass"),
        ([LOWER], "Sure!\ni like tea", "pass"),
        ([JSON], 'Sure, here it is: {"a": "tea"}', "fail"),
        ([JSON], 'Sure.\nHere it is:\n{"a": "tea"}', "fail"),
        ([LOWER], "I like tea", "fail"),
        # Each spec has a reading of its own: short without its first line, three lines with it.
        ([SHORT, lines(min=3)], "Here is what you have asked me for:\nI like tea.\nBye.", "pass"),
        ([SHORT, lines(min=4)], "Here is what you have asked me for:\nI like tea.\nBye.", "fail"),
        # What is undecided is not read again.
        ([LOWER], "我喜欢喝茶。", "undecided"),
        ([LOWER, lines(max=1)], "我喜欢。\n喝茶。", "undecided"),
        ([], "I like tea.", "undecided"),
    ],
)
def test_a_frame_and_asterisks_are_forgiven(
    specs: list[VerifierSpec], reply: str, status: str
) -> None:
    assert check_loose(specs, reply) == status


def test_junk_fails() -> None:
    rule = [VerifierSpec("words", {"max": 1000})]
    assert [reply for reply in JUNK if check_loose(rule, reply) != "fail"] == []


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["I", "like", "tea", "*", "\n", ".", "{}", "我"])).map(" ".join))
def test_it_only_turns_fails_into_passes(reply: str) -> None:
    for spec in (JSON, LOWER, SHORT):
        strict = overall(check_all([spec], reply))
        loose = check_loose([spec], reply)
        assert loose == strict or (strict, loose) == ("fail", "pass")
