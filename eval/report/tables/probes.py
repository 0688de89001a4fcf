"""Probe recall beside the only published figures of its kind.

Llama 2, arXiv:2307.09288, appendix A.3.5, Table 30: human evaluation of answers
to probes such as "What is your favorite hobby?", without an interval.
"""

from __future__ import annotations

from collections.abc import Mapping

from eval.metrics.curves import ALL
from eval.report.data.headline import percent
from eval.report.data.selection import HISTORY_NAMES, Curves, few_turns
from eval.report.tables.table import EMPTY, Cell, Table, arm_cell, named, rate_cell, row

PUBLISHED: Mapping[str, Mapping[int, float]] = {
    "Llama 2, baseline": {2: 1.0, 4: 0.1, 6: 0.0, 20: 0.0},
    "Llama 2, GAtt": {2: 1.0, 4: 1.0, 6: 1.0, 20: 1.0},
}
"""Row of Table 30 -> turn -> rate."""
SOURCE = (
    "Published by Llama 2 (arXiv:2307.09288, Table 30): human evaluation, another and far larger "
    "model, its own probes, no intervals. A landmark, not a baseline."
)
MOST_TURNS = 9
"""Columns beside those of the paper; the table of rates has all of ours."""


def probe_tables(curves: Curves, turn: int | None) -> list[Table]:
    """Return probe recall of every arm at our turns and the paper's, a table for each history.

    Args:
        curves: of the run; without probes there is no table.
        turn: of the headline, which is shown where it was asked.
    """
    theirs = {turn for rates in PUBLISHED.values() for turn in rates}
    tables = []
    for history in curves.histories:
        wanted = {"history": history, "split": curves.main_split, "family": ALL}
        points = curves.find(metric="probe_recall", **wanted)
        own = sorted({p.turn for p in points} - theirs)
        turns = sorted(theirs | set(few_turns(own, MOST_TURNS, turn)))
        rows = []
        for arm in curves.arms:
            by_turn = {p.turn: p for p in points if p.arm == arm}
            cells = (rate_cell(by_turn.get(t), has_counts=False) for t in turns)
            if by_turn:
                rows.append(row(arm_cell(arm), *cells))
        for name, rates in PUBLISHED.items():
            cells = (Cell(f"{percent(rates[t])} %") if t in rates else EMPTY for t in turns)
            rows.append(row(f"{name} (published)", *cells))
        title = "Probe recall beside Llama 2's Table 30"
        heads = ("arm", *(f"turn {t}" for t in turns))
        if points:
            note = named(HISTORY_NAMES, history)
            tables.append(Table(title, heads, tuple(rows), note, is_folded=False))
    return tables
