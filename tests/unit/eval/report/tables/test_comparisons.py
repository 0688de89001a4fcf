from __future__ import annotations

from typing import Any

import pytest

from eval.metrics.curves import curves
from eval.report.data.selection import Curves, few_turns
from eval.report.tables.comparisons import (
    difference_tables,
    event_tables,
    summary_tables,
    trust_tables,
)
from eval.report.tables.sections import MOST_PROBE_TURNS, probe_tables
from eval.report.tables.table import Table
from tests.support.runs.fake_samples import sample
from tests.support.texts.fake_lists import agreement, difference, event, summary


@pytest.fixture
def run(run_results: dict[str, Any]) -> Curves:
    return Curves.of(run_results)


def column(table: Table, head: str) -> list[str]:
    return [cells[table.heads.index(head)].joined() for cells in table.rows]


def test_a_difference_reads_in_points_with_its_sign(run: Curves) -> None:
    rising = difference("gatt", "adherence", 2, 0.5)
    falling = {**rising, "difference": -0.2, "low": -0.4, "high": 0.004, "p_value": 0.25}
    (table,) = difference_tables(run, [rising, {**falling, "turn": 4, "detectable": None}], 2)
    assert column(table, "points") == ["+50", "−20"]
    assert column(table, "95 %") == ["[+20, +70]", "[−40, 0]"]
    assert column(table, "p") == ["<0.001", "0.25"]
    assert column(table, "could see") == ["±34", "–"]


def test_of_fifty_turns_a_few_are_compared_the_headline_s_among_them(run: Curves) -> None:
    arms = ("base+reminder", "gatt")
    found = [difference(arm, "adherence", t, 0.1) for t in range(1, 51) for arm in arms]
    found.insert(7, {**found[7], "turn": None})
    (table,) = difference_tables(run, found, 20)
    turns = ["1", "20", "34", "50"]
    assert column(table, "turn") == ["all", *turns, *turns]
    assert column(table, "arm") == ["GAtt"] * 5 + ["base + reminder"] * 4


def test_turns_since_a_change_are_named_and_stand_behind_all_of_them(run: Curves) -> None:
    found = [difference("gatt", "leakage", t, 0.1) for t in (3, 0)]
    (table,) = difference_tables(run, [*found, {**found[0], "turn": None}], 20)
    assert column(table, "turn") == ["all", "at it", "3 later"]


@pytest.mark.parametrize(
    ("splits", "shown"),
    [
        (["all", "train"], ["seen"]),
        (["all"], ["all instructions"]),
        (["all", "train", "heldout_value"], ["seen", "all instructions", "unseen value"]),
    ],
)
def test_a_total_of_one_split_does_not_stand_beside_it(
    run: Curves, splits: list[str], shown: list[str]
) -> None:
    found = difference("gatt", "adherence", 2, 0.1)
    other = [found | {"arm": "base+reminder", "split": s} for s in ("all", "train", "none")]
    for more in ([], other):
        records = [*more, *(found | {"split": s} for s in splits)]
        (table,) = difference_tables(run, records, 2)
        ours = zip(column(table, "arm"), column(table, "instructions"), strict=True)
        assert [where for arm, where in ours if arm == "GAtt"] == shown
    area = summary("gatt", "adherence", "area", 0.5)
    (table,) = summary_tables(run, [area | {"split": s} for s in splits])
    assert column(table, "instructions") == shown


def test_a_half_life_that_never_came_says_up_to_where_it_was_looked_for(
    run_results: dict[str, Any],
) -> None:
    late = [
        {**p, "rate": None} if p["turn"] > 4 and p["arm"] == "base+reminder" else p
        for p in run_results["curves"]
    ]
    found = [
        summary("base", "adherence", "half_life", 2.0),
        {**summary("gatt", "adherence", "half_life", None), "low": 8.0},
        summary("gatt", "adherence", "area", 0.5),
        summary("gatt", "adherence", "recovery", None),
        {**summary("gatt", "adherence", "area", 0.1), "family": "language"},
        summary("base+reminder", "adherence", "half_life", None),
    ]
    (table,) = summary_tables(Curves.of(run_results | {"curves": late}), found)
    assert column(table, "half-life") == ["turn 2 [1.6, 2.4]", ">20 [8, >20]", ">4"]
    assert column(table, "area under the curve") == ["", "50 % [40, 60]", ""]
    assert column(table, "recovery after a miss") == ["", "–", ""]


def test_events_have_a_row_for_each_arm_and_may_have_any_name(run: Curves) -> None:
    records = [
        event("gatt", n, s, r) for n in ("asks_to_drop", "<b>&") for s, r in ((0, 0.5), (4, None))
    ]
    family = {**event("gatt", "topic_jump", 0, 0.5), "family": "figure"}
    (table,) = event_tables(run, [*records, family])
    assert column(table, "event") == ["Asks to drop", "<b>&"]
    assert [column(table, head) for head in ("at it", "4 later")] == [
        ["50 [40, 60]"] * 2,
        ["–"] * 2,
    ]


def test_agreement_without_kappa_is_a_dash() -> None:
    missing = {**agreement("gatt"), "kappa": None, "kappa_low": None, "kappa_high": None}
    (table,) = trust_tables([agreement("base"), missing], [], [])
    assert column(table, "kappa") == ["0.78 [0.60, 0.90]", "–"]


def probed(*turns: int) -> Curves:
    return Curves(tuple(curves([sample(turn=t, kind="probe") for t in turns])))


def test_our_turns_and_the_paper_s_stand_side_by_side() -> None:
    (table,) = probe_tables(probed(1, 2, 40), None)
    assert table.heads[1:] == tuple(f"turn {t}" for t in (1, 2, 4, 6, 20, 40))
    ours, baseline, gatt = ([cell.text for cell in cells] for cells in table.rows)
    assert ours[0] == "base model"
    assert [bool(text) for text in ours[1:]] == [True, True, False, False, False, True]
    assert baseline[1:] == ["", "100 %", "10 %", "0 %", "0 %", ""]
    assert gatt[1:] == ["", "100 %", "100 %", "100 %", "100 %", ""]


def test_a_probe_at_every_turn_gives_no_fifty_columns_but_the_headline_s() -> None:
    (table,) = probe_tables(probed(*range(1, 51)), 17)
    assert len(table.heads) == 1 + MOST_PROBE_TURNS + 4
    assert {"turn 1", "turn 17", "turn 20", "turn 50"} <= set(table.heads)


@pytest.mark.parametrize(
    ("turns", "most", "keep", "shown"),
    [
        ([1, 2, 3], 3, 2, [1, 2, 3]),
        (range(1, 51), 5, None, [1, 13, 25, 38, 50]),
        (range(1, 51), 5, 20, [1, 13, 20, 38, 50]),
        (range(1, 51), 5, 99, [1, 13, 25, 38, 50]),
        (range(1, 51), 5, 49, [1, 13, 25, 49, 50]),
    ],
)
def test_a_few_of_many_turns_keep_the_first_the_last_and_the_headline_s(
    turns: list[int], most: int, keep: int | None, shown: list[int]
) -> None:
    assert few_turns(turns, most, keep) == shown
