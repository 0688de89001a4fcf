"""Degenerate text: junk is named, real replies of every form and script are not; shares by hand."""

from __future__ import annotations

import pytest

from data_synth.catalog_check import JUNK
from gatt.verifiers.text.degenerate import degenerate
from gatt.verifiers.text.repetition import find_loop, repeated_share
from tests.unit.gatt.verifiers.text.cases import CASES

BREAD = "I went to the market and bought some bread. " + "It was good bread. " * 6


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        *((reply, "") for reply in JUNK),
        *CASES["degenerate"],
        ("Fine\ud800.", "control or broken character U+D800"),
        (BREAD, "loop"),
    ],
)
def test_the_reason_is_named(reply: str, reason: str) -> None:
    assert reason in (degenerate(reply) or "not degenerate")
    assert degenerate(reply)


@pytest.mark.parametrize("reply", CASES["real"])
def test_real_replies_are_not(reply: str) -> None:
    assert degenerate(reply) is None


@pytest.mark.parametrize(("text", "found"), CASES["loops"])
def test_loops(text: str, found: str | None) -> None:
    loop = find_loop(text)
    assert (loop is None) == (found is None)
    assert found is None or found in (loop or "")


@pytest.mark.parametrize(
    ("text", "share"),
    [
        # what-a-day a-day-oh day-oh-what oh-what-a what-a-day: 1 of 5.
        ("What a day, oh what a day!", 1 / 5),
        # 7 three-word phrases, 2 of them again.
        ("I'm a marine biologist, and I'm a marine biologist.", 2 / 7),
        ("Too short", 0.0),
        ("We like one, you like two, they like three", 0.0),
        # Lines of a list: 1 of 4.
        ("- tea\n- milk\n- tea\n- jam", 1 / 4),
        ("- one\n- one\n- one", 0.0),
        ("```\na = 1\na = 1\nb = 2\nc = 3\n```", 1 / 4),
        # Five Han an n-gram: 一二三四五 again is 1 of 7.
        ("一二三四五六一二三四五", 1 / 7),
    ],
)
def test_the_share_by_hand(text: str, share: float) -> None:
    assert repeated_share(text) == pytest.approx(share)
