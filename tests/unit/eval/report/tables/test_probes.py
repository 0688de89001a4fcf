from __future__ import annotations

from eval.metrics.curves import curves
from eval.report.data.selection import Curves, few_turns
from eval.report.tables.probes import MOST_TURNS, probe_table
from tests.support.runs.fake_samples import sample


def probed(turns: list[int]) -> Curves:
    return Curves(tuple(curves([sample(turn=t, kind="probe") for t in turns])))


def test_our_turns_and_the_paper_s_stand_side_by_side() -> None:
    table = probe_table(probed([1, 2, 40]), history="reference", split="train", family="all")
    assert table is not None
    assert table.turns == (1, 2, 4, 6, 20, 40)
    ((arm, points),) = table.ours
    assert arm == "base"
    assert [p.turn if p else None for p in points] == [1, 2, None, None, None, 40]
    assert dict(table.published) == {
        "Llama 2, baseline": (None, 1.0, 0.1, 0.0, 0.0, None),
        "Llama 2, GAtt": (None, 1.0, 1.0, 1.0, 1.0, None),
    }


def test_without_a_probe_the_published_figures_stand_nowhere() -> None:
    assert probe_table(Curves(()), history="reference", split="train", family="all") is None


def test_a_probe_at_every_turn_gives_no_fifty_columns() -> None:
    table = probe_table(
        probed(list(range(1, 51))), history="reference", split="train", family="all"
    )
    assert table is not None
    assert len(table.turns) == MOST_TURNS + 4
    assert {1, 2, 4, 6, 20, 50} <= set(table.turns)


def test_a_few_of_many_turns_keep_the_first_and_the_last() -> None:
    assert few_turns([1, 2, 3], 3) == [1, 2, 3]
    assert few_turns(range(1, 51), 5) == [1, 13, 25, 38, 50]
