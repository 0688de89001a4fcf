from __future__ import annotations

import json
from typing import Any

import pytest
from fake_samples import instruction, sample

from eval.metrics.curves import CurvePoint, curves
from eval.metrics.half_life import half_life
from eval.metrics.paired import differences, paired_difference
from eval.metrics.wilson import wilson_interval
from eval.samples import Sample
from gatt.errors import DataError

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
    assert {p.metric for p in curves(made)} == {"adherence", "survival"}


def test_a_curve_record_is_flat_and_comes_back() -> None:
    (point,) = find(curves([sample()]), metric="adherence", split="all", family="all")
    record = point.as_dict()
    low, high = wilson_interval(1, 1)
    assert record == {
        "arm": "base", "metric": "adherence", "history": "reference", "split": "all",
        "family": "all", "turn": 1, "rate": 1.0, "low": low, "high": high, "num_dialogues": 1,
        "num_passed": 1, "num_decided": 1, "num_undecided": 0, "pessimistic": 1.0,
        "optimistic": 1.0,
    }  # fmt: skip
    assert CurvePoint.from_dict(json.loads(json.dumps(record))).as_dict() == record


def test_an_undecided_false_trigger_counts_as_one_when_the_worst_is_assumed() -> None:
    plain = {"instruction": None, "split": "none", "family": "plain"}
    made = [sample(**plain, status="fail"), sample(**plain, dialogue="d2", status="undecided")]
    (point,) = find(curves(made), metric="false_trigger", split="none", family="all")
    assert (point.rate, point.pessimistic, point.optimistic) == (0.0, 0.5, 0.0)


@pytest.mark.parametrize(("raw", "found"), [({"arm": "base"}, "arm"), ([], "list"), ({}, "no key")])
def test_a_broken_record_is_refused(raw: Any, found: str) -> None:
    with pytest.raises(DataError, match=f"curve record has {found}: expected arm, metric"):
        CurvePoint.from_dict(raw)


def test_no_samples_give_no_curves() -> None:
    assert curves([]) == []
    assert differences([]) == []


def curve(**rates: float | None) -> list[CurvePoint]:
    base = curves([sample()])[0].as_dict()
    return [CurvePoint(**{**base, "turn": int(t[1:]), "rate": r}) for t, r in rates.items()]


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        (curve(t1=0.9, t2=0.5, t4=0.49, t8=0.7), 4),
        (curve(t8=0.1, t2=0.4), 2),
        (curve(t1=0.9, t2=None), None),
        ([], None),
    ],
)
def test_half_life_is_the_first_turn_under_half(
    points: list[CurvePoint], expected: int | None
) -> None:
    assert half_life(points) == expected


def paired(num: int, passes: int) -> list[Sample]:
    """GAtt passes in the first `passes` of `num` dialogues, the base model never."""
    return [
        sample(dialogue=f"d{n}", arm=arm, status="pass" if arm == "gatt" and n < passes else "fail")
        for n in range(num)
        for arm in ("base", "gatt")
    ]


def test_the_paired_difference_matches_the_arithmetic() -> None:
    # 12 of 16 against 0 of 16. The bootstrap draws binomial(16, 0.75) / 16, whose 2.5 % and
    # 97.5 % quantiles are 8/16 and 15/16 (P(X <= 7) = 0.0075, P(X <= 8) = 0.0271,
    # P(X <= 14) = 0.9365, P(X <= 15) = 0.99).
    found = differences(paired(16, 12))
    (record,) = [d for d in found if (d.metric, d.split) == ("adherence", "train")]
    assert record.difference == 0.75
    assert (record.low, record.high) == (0.5, 0.9375)
    assert (record.arm, record.baseline, record.num_dialogues) == ("gatt", "base", 16)
    assert differences(paired(16, 12)) == found


def test_agreeing_dialogues_still_leave_a_doubt() -> None:
    # 4 of 4 against 0 of 4: difference 1, and Wilson allows 0.489891 unlike dialogues of 0/4,
    # each of which could turn +1 into -1: low = 1 - 2 * 0.489891.
    (record,) = [
        d for d in differences(paired(4, 4)) if (d.metric, d.split) == ("adherence", "all")
    ]
    assert record.difference == 1
    assert (record.low, record.high) == pytest.approx((1 - 2 * 0.489891, 1), abs=1e-5)


def test_only_dialogues_of_both_arms_are_compared() -> None:
    made = [*paired(2, 1), sample(dialogue="d9", arm="gatt", status="pass")]
    record = next(d for d in differences(made) if d.metric == "adherence")
    assert (record.difference, record.num_dialogues) == (0.5, 2)
    assert paired_difference({"a": (1, 1)}, {"b": (0, 1)}) is None
