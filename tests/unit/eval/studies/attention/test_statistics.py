"""Means over dialogues, and falls, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from eval.records.case import Case
from eval.studies.attention.measure import INSTRUCTION, INTACT, TurnAttention
from eval.studies.attention.statistics import Looked, curves, falls
from tests.support.runs.judged import RULE, instruction, sample
from tests.support.runs.stages import dialogue

ARMS = ("base", "gatt")


def looked(arm: str, number: int, masses: list[float]) -> Looked:
    case = Case(f"c{number}", dialogue(number), instruction(RULE), None)
    turns = tuple(
        TurnAttention(sample(arm=arm, turn=turn, dialogue=case.dialogue.id), mass)
        for turn, mass in enumerate(masses, start=1)
    )
    return Looked(case, arm, turns)


def test_the_interval_of_a_mean_is_students() -> None:
    # Mean 0.3, sd 0.1, n 3, t(2) = 4.3027: 0.3 +- 0.43027 / sqrt(3).
    (found,) = curves([looked("base", n, [0.1 * (n + 2)]) for n in range(3)], ARMS)
    bounds = [found[key] for key in ("value", "low", "high")]
    assert bounds == pytest.approx([0.3, 0.3 - 0.248414, 0.3 + 0.248414], abs=1e-5)


def test_curves_are_means_over_dialogues() -> None:
    given = [
        looked("base", 1, [0.1, 0.2]),
        looked("gatt", 1, [0.3, 0.2]),
        looked("base", 2, [0.2]),
        looked("gatt", 2, [0.4]),
        # The same dialogue under another instruction is no further dialogue.
        looked("gatt", 2, [0.6]),
    ]
    found = {(r["arm"], r["turn"]): r for r in curves(given, ARMS)}
    assert found["base", 1]["value"] == pytest.approx(0.15)
    assert found["gatt", 1]["value"] == pytest.approx((0.3 + 0.5) / 2)
    assert found["gatt", 1]["num_dialogues"] == 2
    assert found["gatt", 2] == {
        "arm": "gatt", "turn": 2, "metric": "mass", "value": 0.2, "low": None, "high": None,
        "num_dialogues": 1,
    }  # fmt: skip
    # A share is none below 0.
    assert found["base", 1]["low"] == 0


def hidden(number: int, before: Any, after: Any, arm: str = "gatt") -> Looked:
    replies = {INTACT: ("x", before), INSTRUCTION: ("y" if after == "fail" else "x", after)}
    return replace(looked(arm, number, [0.1]), hidden=replies)


def test_the_fall_is_paired_and_undecided_pairs_are_counted() -> None:
    given = [
        *(hidden(n, "pass", "fail") for n in range(1, 7)),
        hidden(7, "pass", "pass"),
        hidden(8, "fail", "pass"),
        hidden(9, "pass", "undecided"),
        hidden(1, "undecided", "fail", "base"),
    ]
    base, gatt = falls(given, ARMS)
    assert (gatt["num_pairs"], gatt["num_undecided"]) == (8, 1)
    assert (gatt["num_replies"], gatt["num_changed"]) == (9, 6)
    assert (gatt["intact"], gatt["unsighted"]) == (7 / 8, 2 / 8)
    assert gatt["fall"] == pytest.approx(5 / 8)
    assert 0 < gatt["low"] < gatt["fall"] < gatt["high"] <= 1
    assert (base["num_pairs"], base["num_undecided"], base["fall"]) == (0, 1, None)
    assert falls([], ARMS) == []
