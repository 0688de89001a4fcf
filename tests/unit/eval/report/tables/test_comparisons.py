from __future__ import annotations

from typing import Any

import pytest

from eval.report.data.selection import Curves
from eval.report.tables.comparisons import (
    agreement_rows,
    coverage_totals,
    difference_tables,
    p_text,
    summary_rows,
)
from tests.support.texts.fake_lists import agreement, difference, fake_lists, summary


@pytest.fixture
def run(run_results: dict[str, Any]) -> Curves:
    return Curves.of(run_results)


def test_a_difference_reads_in_points_with_its_sign(run: Curves) -> None:
    rising = difference("gatt", "adherence", 2, 0.5)
    falling = {**rising, "difference": -0.2, "low": -0.4, "high": 0.004, "p_value": None}
    ((metric, rows),) = difference_tables(run, [rising, {**falling, "turn": 4}])
    assert metric == "adherence"
    assert [(r.text, r.interval, r.is_clear) for r in rows] == [
        ("+50", "[+20, +70]", True),
        ("−20", "[−40, 0]", False),
    ]
    assert rows[0].whisker == pytest.approx((60, 75, 85))
    assert (rows[0].p_value, rows[0].detectable, rows[1].p_value) == ("<0.001", "±34", "")


def test_nothing_detectable_is_a_dash_and_an_old_record_is_blank(run: Curves) -> None:
    found = difference("gatt", "adherence", 2, 0.5)
    old = {k: v for k, v in found.items() if k not in ("p_value", "p_adjusted", "detectable")}
    ((_, rows),) = difference_tables(run, [{**found, "detectable": None}, {**old, "turn": 4}])
    assert [(r.detectable, r.p_adjusted) for r in rows] == [("–", "0.004"), ("", "")]


def test_of_fifty_turns_a_few_are_compared_arm_by_arm(run: Curves) -> None:
    found = [
        difference(a, "adherence", t, 0.1) for t in range(1, 51) for a in ("base+reminder", "gatt")
    ]
    found.insert(7, {**found[7], "turn": None})
    ((_, rows),) = difference_tables(run, found)
    turns = ["1", "11", "21", "30", "40", "50"]
    assert [r.turn for r in rows] == ["all", *turns, *turns]
    assert [r.arm for r in rows] == ["gatt"] * 7 + ["base+reminder"] * 6


def test_turns_since_a_change_are_named_and_stand_behind_all_of_them(run: Curves) -> None:
    found = [difference("gatt", "leakage", t, 0.1) for t in (3, 0)]
    ((_, rows),) = difference_tables(run, [*found, {**found[0], "turn": None}])
    assert [r.turn for r in rows] == ["all", "at it", "3 later"]


@pytest.mark.parametrize(
    ("splits", "told"),
    [
        (["all", "train"], ["seen"]),
        (["all"], ["all instructions"]),
        (["all", "train", "heldout_value"], ["seen", "all instructions", "unseen value"]),
    ],
)
def test_a_total_of_one_split_is_not_told_beside_it(
    run: Curves, splits: list[str], told: list[str]
) -> None:
    found = difference("gatt", "adherence", 2, 0.1)
    ((_, rows),) = difference_tables(run, [found | {"split": s} for s in splits])
    assert [row.where for row in rows] == told
    other = [found | {"arm": "base+reminder", "split": s} for s in ("all", "train", "none")]
    ((_, rows),) = difference_tables(run, [*other, *(found | {"split": s} for s in splits)])
    assert [row.where for row in rows if row.arm == "gatt"] == told, "by the splits of its own pair"
    area = summary("gatt", "adherence", "area", 0.5)
    summaries = summary_rows(run, [area | {"split": s} for s in splits])
    assert [row.where for row in summaries] == told


@pytest.mark.parametrize(
    ("p_value", "text"),
    [(None, ""), (0.0, "<0.001"), (0.0123, "0.012"), (0.25, "0.25"), (1.0, "1.00")],
)
def test_p_values_are_printed_as_papers_do(p_value: float | None, text: str) -> None:
    assert p_text(p_value) == text


def test_a_half_life_that_never_came_says_up_to_where_it_was_looked_for(run: Curves) -> None:
    found = [
        summary("base", "adherence", "half_life", 2.0),
        {**summary("gatt", "adherence", "half_life", None), "low": 8.0},
        summary("gatt", "adherence", "area", 0.5),
        {**summary("gatt", "adherence", "recovery", None), "num_dialogues": 3},
        {**summary("gatt", "adherence", "area", 0.1), "family": "language"},
    ]
    base, ours = summary_rows(run, found)
    assert base.cells == {"half_life": ("turn 2", "[1.6, 2.4]")}
    assert ours.cells == {
        "half_life": (">20", "[8, >20]"),
        "area": ("50 %", "[40, 60]"),
        "recovery": ("–", ""),
    }
    assert (ours.num_dialogues, ours.where) == (12, "seen")


def test_a_half_life_is_looked_for_as_far_as_something_was_decided(
    run_results: dict[str, Any],
) -> None:
    late = [
        {**p, "rate": None} if p["turn"] > 4 and p["arm"] == "gatt" else p
        for p in run_results["curves"]
    ]
    curves = Curves.of({**run_results, "curves": late})
    never = {**summary("gatt", "adherence", "half_life", None), "low": None, "high": None}
    (row,) = summary_rows(curves, [never])
    assert row.cells["half_life"][0] == ">4"


def test_a_kappa_that_does_not_exist_is_a_dash() -> None:
    missing = {**agreement("gatt"), "kappa": None, "kappa_low": None, "kappa_high": None}
    rows = agreement_rows([agreement("base"), missing])
    assert [(r["kappa_text"], r["kappa_interval"]) for r in rows] == [
        ("0.78", "[0.60, 0.90]"),
        ("–", ""),
    ]


def test_coverage_adds_up_by_who_judges() -> None:
    assert coverage_totals(fake_lists()["coverage"]) == [
        ("rules", 12, 0.6),
        ("judge", 6, 0.3),
        ("not covered", 2, 0.1),
    ]
    assert coverage_totals([]) == []
