from __future__ import annotations

import pytest

from eval.metrics.curves import curves
from eval.report.data.selection import Curves, few_turns
from eval.report.tables.sections import MOST_PROBE_TURNS, probe_tables
from tests.support.runs.fake_samples import sample


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
