"""Half-life: the first turn at which fewer than half of the replies adhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eval.metrics.curves import CurvePoint

HALF = 0.5


def half_life(points: Iterable[CurvePoint]) -> int | None:
    """Return the first measured turn with a rate below 0.5, None if there is none.

    Args:
        points: one curve (one arm, metric, history, split and family), in any order.
    """
    return _first_below((p.turn, p.rate) for p in points)


def half_life_interval(points: Sequence[CurvePoint]) -> tuple[int | None, int | None]:
    """Return the first turns at which the band reaches below 0.5, and lies below it whole.

    None: at no measured turn. Where the true curve crosses 0.5 steeply, the turn lies
    between the two in at least 95 % of the runs. Where it runs flat beside 0.5, every
    turn before is another chance that a band lies on the wrong side, and it does less
    often.

    Args:
        points: one curve, in any order.
    """
    return _first_below((p.turn, p.low) for p in points), _first_below(
        (p.turn, p.high) for p in points
    )


def _first_below(values: Iterable[tuple[int, float | None]]) -> int | None:
    return min((t for t, value in values if value is not None and value < HALF), default=None)
