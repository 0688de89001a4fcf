"""Means over dialogues, heads and falls, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from eval.records.case import Case
from eval.studies.attention.layout import Layout
from eval.studies.attention.masked import INSTRUCTION, INTACT
from eval.studies.attention.statistics import Looked, curves, falls, interval, maps
from eval.studies.attention.task import Spoken
from eval.studies.attention.weights import TurnAttention
from tests.support.runs.judged import RULE, instruction, sample
from tests.support.runs.stages import dialogue

ARMS = ("base", "gatt")


def turn(number: int, mass: float) -> TurnAttention:
    return TurnAttention(turn=number, mass=mass, bin_peak_N=np.array([0.9]), even=0.25)


def looked(arm: str, number: int, masses: list[float], status: Any = "pass") -> Looked:
    case = Case(f"c{number}", dialogue(number), instruction(RULE), None)
    turns = range(1, len(masses) + 1)
    samples = tuple(
        sample(arm=arm, turn=t, dialogue=case.dialogue.id, status=status) for t in turns
    )
    layout = Layout((1, 2), (0, 1), 0, (), ())
    found = tuple(turn(t, mass) for t, mass in zip(turns, masses, strict=True))
    return Looked(Spoken(case, arm, samples), layout, found)


def test_the_interval_of_a_mean_is_students() -> None:
    # Mean 3, sd 1, n 3, t(2) = 4.3027: 3 +- 4.3027 / sqrt(3).
    assert interval([2.0, 3, 4]) == pytest.approx((3, 3 - 2.48414, 3 + 2.48414), abs=1e-4)
    assert interval([2.0]) == (2.0, None, None)


def test_curves_are_means_over_dialogues_and_differences_are_paired() -> None:
    given = [
        looked("base", 1, [0.1, 0.2]),
        looked("gatt", 1, [0.3, 0.2]),
        looked("base", 2, [0.2]),
        looked("gatt", 2, [0.4]),
        # The same dialogue under another instruction is no further dialogue.
        looked("gatt", 2, [0.6]),
    ]
    found = {(r["arm"], r["metric"], r["turn"]): r for r in curves(given, ARMS)}
    assert found["base", "mass", 1]["value"] == pytest.approx(0.15)
    assert found["gatt", "mass", 1]["value"] == pytest.approx((0.3 + 0.5) / 2)
    assert found["gatt", "mass", 1]["num_dialogues"] == 2
    assert found["gatt", "mass_difference", 1]["value"] == pytest.approx((0.2 + 0.3) / 2)
    assert found["gatt", "mass_difference", 1]["low"] < 0 < found["gatt", "mass", 1]["high"]
    assert found["gatt", "mass_difference", 2] == {
        "arm": "gatt", "turn": 2, "metric": "mass_difference", "value": 0.0, "low": None,
        "high": None, "num_dialogues": 1,
    }  # fmt: skip
    # A share is none below 0.
    assert found["base", "mass", 1]["low"] == 0
    assert found["base", "mass", 1]["even"] == 0.25
    assert ("base", "mass_difference", 1) not in found


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


def test_the_picture_is_of_the_case_that_the_adapter_keeps_most_often() -> None:
    given = [
        looked(arm, number, [0.1, 0.2], status)
        for number, kept in enumerate(("fail", "undecided", "pass", "pass"))
        for arm, status in (("base", "pass"), ("gatt", kept))
    ]
    # Of those alike the first; both arms of it.
    found = [(one["dialogue"], one["arm"]) for one in maps(given, "gatt")]
    assert found == [(dialogue(2).id, "base"), (dialogue(2).id, "gatt")]
