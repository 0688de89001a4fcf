"""Curves over turns, and the rates of the own replies."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest

from eval.config import TAKEN
from eval.metrics.curves import OWN_REPLIES, CurvePoint, curves, vacuous_curves
from eval.metrics.intervals import wilson_interval
from eval.metrics.outcomes import ALL
from gatt.data.instruction import Entry
from gatt.errors import DataError
from gatt.verifiers.spec import VerifierSpec
from tests.support.runs.fake_samples import instruction, sample

FIGURE = {
    "instruction": instruction("figure", "Napoleon", "heldout_value"),
    "family": "figure",
    "split": "heldout_value",
}


def find(points: list[CurvePoint], **wanted: Any) -> list[CurvePoint]:
    return [p for p in points if all(getattr(p, k) == v for k, v in wanted.items())]


def test_curves_give_totals_splits_families_and_both() -> None:
    made = [sample(), sample(dialogue="d2", status="fail", **FIGURE)]
    found = find(curves(made), metric="adherence")
    assert {(p.split, p.family): p.rate for p in found} == {
        ("all", "all"): 0.5,
        ("all", "language"): 1.0,
        ("all", "figure"): 0.0,
        ("train", "all"): 1.0,
        ("train", "language"): 1.0,
        ("heldout_value", "all"): 0.0,
        ("heldout_value", "figure"): 0.0,
    }
    assert {p.metric for p in curves(made)} == {"adherence", "adherence_loose", "survival"}


def test_a_curve_record_is_flat_and_comes_back() -> None:
    (point,) = find(curves([sample()]), metric="adherence", split="all", family="all")
    record = asdict(point)
    low, high = wilson_interval(1, 1)
    assert record == {
        "arm": "base", "metric": "adherence", "history": "reference", "split": "all",
        "family": "all", "turn": 1, "rate": 1.0, "low": low, "high": high, "num_dialogues": 1,
        "num_passed": 1, "num_decided": 1, "num_undecided": 0, "pessimistic": 1.0,
        "optimistic": 1.0, "num_instructions": 1,
    }  # fmt: skip
    assert CurvePoint.from_dict(json.loads(json.dumps(record))) == point


@pytest.mark.parametrize(("raw", "found"), [({"arm": "base"}, "metric"), ([], "list")])
def test_a_broken_record_is_refused(raw: Any, found: str) -> None:
    with pytest.raises(DataError, match=found):
        CurvePoint.from_dict(raw)


def test_no_adapter_may_be_called_what_reports_call_something_else() -> None:
    assert set(TAKEN) == {OWN_REPLIES, ALL}


TEA = VerifierSpec("terms", {"any_of": ["tea"]})
TEA_ENTRY = Entry("x.tea", "x", "tea", ("Say tea.",), "tea.", (TEA,))
PLAIN = {"instruction": None, "split": "none", "family": "plain"}


def totals(points: list[CurvePoint]) -> list[CurvePoint]:
    return find(points, split="all", family="all")


def test_own_replies_are_judged_once_whatever_the_arms_said() -> None:
    told = {"instruction": instruction("language", "French")}
    made = [
        sample(arm=arm, dialogue=d, status=status, reference=reference, **told)
        for arm, status in (("base", "fail"), ("gatt", "pass"))
        for d, reference in (("d1", "I know no French."), ("d2", "It was calm."), ("d3", None))
    ]
    (point,) = totals(vacuous_curves(made, ()))
    assert (point.metric, point.arm) == ("vacuous_adherence", "dialogue")
    assert (point.num_passed, point.num_decided, point.num_dialogues) == (1, 2, 2)
    plain = [
        sample(**PLAIN, dialogue="d1", reference="We had tea.", status="fail"),
        sample(**PLAIN, dialogue="d2", reference="It was calm.", status="undecided"),
    ]
    (point,) = totals(vacuous_curves(plain, [TEA_ENTRY]))
    assert (point.metric, point.num_passed) == ("vacuous_false_trigger", 1)
    (asked,) = [p for p in totals(curves(plain)) if p.metric == "false_trigger"]
    # Here a pass is the error: undecided counts as one when the worst is assumed.
    assert (asked.rate, asked.pessimistic, asked.optimistic) == (0.0, 0.5, 0.0)
    assert asked.num_instructions == 0
