"""Probe recall beside the only published figures of its kind.

Llama 2, arXiv:2307.09288, appendix A.3.5, Table 30: human evaluation of answers
to probes such as "What is your favorite hobby?", without an interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eval.metrics.curves import CurvePoint
from eval.report.data.selection import Curves, few_turns

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
"""Columns beside those of the paper; all of ours stand in the table of rates."""


@dataclass(frozen=True)
class ProbeTable:
    """Our arms and the published rows over the turns of both."""

    turns: tuple[int, ...]
    ours: tuple[tuple[str, tuple[CurvePoint | None, ...]], ...]
    published: tuple[tuple[str, tuple[float | None, ...]], ...]


def probe_table(curves: Curves, **wanted: object) -> ProbeTable | None:
    """Return probe recall of every arm at our turns and the paper's, None if no probe was asked."""
    rows = {
        arm: {p.turn: p for p in curves.find(metric="probe_recall", arm=arm, **wanted)}
        for arm in curves.arms
    }
    rows = {arm: points for arm, points in rows.items() if points}
    if not rows:
        return None
    theirs = {turn for row in PUBLISHED.values() for turn in row}
    own = sorted({turn for points in rows.values() for turn in points} - theirs)
    turns = tuple(sorted(theirs | set(few_turns(own, MOST_TURNS))))
    return ProbeTable(
        turns,
        tuple((arm, tuple(points.get(t) for t in turns)) for arm, points in rows.items()),
        tuple((name, tuple(row.get(t) for t in turns)) for name, row in PUBLISHED.items()),
    )
