"""Half-life: the first turn at which fewer than half of the replies adhere."""

from __future__ import annotations

from collections.abc import Iterable

from eval.metrics.curves import CurvePoint


def half_life(points: Iterable[CurvePoint]) -> int | None:
    """Return the first measured turn with a rate below 0.5, None if there is none.

    Args:
        points: one curve (one arm, metric, history, split and family), in any order.
    """
    below = [p.turn for p in points if p.rate is not None and p.rate < 0.5]
    return min(below, default=None)
