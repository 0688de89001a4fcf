from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest

from eval.config import TAKEN
from eval.metrics.curves import OWN_REPLIES, CurvePoint, curves
from eval.metrics.outcomes import ALL
from eval.metrics.statistics.wilson import wilson_interval
from gatt.errors import DataError
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


def test_an_undecided_false_trigger_counts_as_one_when_the_worst_is_assumed() -> None:
    plain = {"instruction": None, "split": "none", "family": "plain"}
    made = [sample(**plain, status="fail"), sample(**plain, dialogue="d2", status="undecided")]
    (point,) = find(curves(made), metric="false_trigger", split="none", family="all")
    assert (point.rate, point.pessimistic, point.optimistic) == (0.0, 0.5, 0.0)


@pytest.mark.parametrize(
    ("raw", "found"), [({"arm": "base"}, "metric"), ([], "list"), ({"arms": 1}, "arms")]
)
def test_a_broken_record_is_refused(raw: Any, found: str) -> None:
    with pytest.raises(DataError, match=found):
        CurvePoint.from_dict(raw)


def test_no_adapter_may_be_called_what_reports_call_something_else() -> None:
    assert set(TAKEN) == {OWN_REPLIES, ALL}
