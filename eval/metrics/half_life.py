"""Half-life: the first turn at which fewer than half of the replies adhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eval.metrics.curves import CurvePoint

HALF = 0.5


def half_life(points: Iterable[CurvePoint]) -> int | None:
    """Return the first measured turn with a rate below 0.5 of one curve, None if there is none."""
    return _first_below((p.turn, p.rate) for p in points)


def half_life_interval(points: Sequence[CurvePoint]) -> tuple[int | None, int | None]:
    """Return the first turns at which the band of one curve reaches below 0.5, and lies below it whole.

    None: at no measured turn. Where the true curve crosses 0.5 steeply, the turn lies between the two
    in at least 95 % of the runs. Where it runs flat beside 0.5 it does less often: every turn before is
    another chance that a band lies on the wrong side.
    """
    low, high = (_first_below((p.turn, getattr(p, end)) for p in points) for end in ("low", "high"))
    return low, high


def _first_below(values: Iterable[tuple[int, float | None]]) -> int | None:
    return min((t for t, value in values if value is not None and value < HALF), default=None)
