"""Summaries: a whole curve in one number, as flat records of `results.json`.

The interval of the area is computed from those of the turns by the method of variance estimates
recovery (MOVER; Zou and Donner 2008, Statistics in Medicine 27:1693-1702), with the correlation of the
turns over dialogues and instructions. A variance pooled over all turns would be too small where late
turns, which weigh most, have rates near 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from eval.metrics.curves import METRICS, PASS_IS_BAD, Curve, CurvePoint, by_arm
from eval.metrics.intervals import (
    MIN_INSTRUCTIONS,
    Codes,
    Floats,
    crossed_interval,
    num_groups,
)
from eval.metrics.outcomes import Outcome, Rows, rate_of
from eval.records.samples import Sample

WITH_RECOVERY = ("adherence", "adherence_loose")
"""Metrics in which a case can miss at one turn and pass at the next."""
HALF = 0.5


@dataclass(frozen=True, kw_only=True)
class Summary(Curve):
    """One number of one curve, with its 95 % interval."""

    name: str
    """`half_life`, `area` or `recovery`."""
    value: float | None
    """A turn for `half_life`, None if the curve never falls below half; else from 0 to 1, None where
    nothing was decided."""
    low: float | None
    high: float | None
    """For `half_life` None stands for later than the last measured turn."""
    num_dialogues: int
    """Dialogues that it rests on."""


def summaries(samples: Iterable[Sample], points: Sequence[CurvePoint]) -> list[Summary]:
    """Return half-life, area and recovery of every curve that has them.

    A half-life of false triggers would mean nothing and is left out.

    Args:
        samples: those that the curves were made of.
        points: `curves(samples)`.
    """
    found = [s for s in _half_lives(points) if s.metric in METRICS]
    for (arm, history), members in by_arm(samples).items():
        for metric, measure in METRICS.items():
            outcomes = list(measure(members))
            where = {"arm": arm, "metric": metric, "history": history}
            for split, family, rows in Rows.of(outcomes).slices():
                if (bounds := area(rows)) is not None:
                    curve = Curve(**where, split=split, family=family)
                    found.append(_summary("area", curve, bounds, rate_of(rows).num_dialogues))
            if metric in WITH_RECOVERY:
                for split, family, rows in Rows.of(recovery(outcomes)).slices():
                    rate = rate_of(rows)
                    numbers = (rate.rate, rate.low, rate.high)
                    curve = Curve(**where, split=split, family=family)
                    found.append(_summary("recovery", curve, numbers, rate.num_dialogues))
    return found


def half_life(points: Iterable[CurvePoint], end: str = "rate") -> int | None:
    """Return the first measured turn at which one curve is below 0.5, None if there is none.

    Args:
        points: of one curve.
        end: `rate`; or `low` or `high`, for the first turn at which the band reaches below 0.5, or
            lies below it whole. Where the true curve crosses 0.5 steeply, the turn lies between the
            two in at least 95 % of the runs. Where it runs flat beside 0.5 it does less often: every
            turn before is another chance that a band lies on the wrong side.
    """
    values = ((p.turn, getattr(p, end)) for p in points)
    return min((t for t, value in values if value is not None and value < HALF), default=None)


def recovery(outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
    """Yield, for every miss with a later judged turn in its case, the outcome there.

    A pass is a recovery; an undecided next reply leaves it open, and the miss at
    a case's last judged turn is not counted.

    Args:
        outcomes: of `adherence` or its like, of one arm and history, in any order.
    """
    cases: dict[tuple[str, str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        cases[outcome.sample.case].append(outcome)
    for case in cases.values():
        for outcome, after in pairwise(sorted(case, key=lambda o: o.sample.turn)):
            if outcome.status == "fail":
                yield after


def _half_lives(points: Iterable[CurvePoint]) -> Iterator[Summary]:
    lines: dict[Curve, list[CurvePoint]] = defaultdict(list)
    for point in points:
        if point.metric not in PASS_IS_BAD and point.rate is not None:
            curve = Curve(**{field.name: getattr(point, field.name) for field in fields(Curve)})
            lines[curve].append(point)
    for curve, line in lines.items():
        bounds = half_life(line), half_life(line, "low"), half_life(line, "high")
        yield _summary("half_life", curve, bounds, max(p.num_dialogues for p in line))


def _summary(
    name: str,
    curve: Curve,
    bounds: tuple[float | None, float | None, float | None],
    num_dialogues: int,
) -> Summary:
    value, low, high = bounds
    return Summary(
        **vars(curve), name=name, value=value, low=low, high=high, num_dialogues=num_dialogues
    )


def area(rows: Rows) -> tuple[float, float, float] | None:
    """Return area, low and high bound (95 %), None where nothing was decided.

    Trapezoids between the turns at which something was decided, over the distance
    from the first to the last; with one turn, its rate and its interval. Of correlated turns the
    distances from rate to bound add up, of independent ones their squares.
    """
    decided = rows.where(~np.isnan(rows.value))
    if not len(decided.value):
        return None
    turns, stratum = np.unique(decided.turn, return_inverse=True)
    found = [(at.value.mean(), *crossed_interval(at.value, at.ways)) for _, at in decided.by_turn()]
    rates, lows, highs = np.array(found).T
    weights = turn_weights(turns)
    alike_TT = _correlations(decided, stratum.astype(np.int64), rates)
    below, above = weights * (rates - lows), weights * (highs - rates)
    # The sum of weights is 1 but for rounding.
    value = min(1.0, float(weights @ rates))
    low = value - float(np.sqrt(below @ alike_TT @ below))
    high = value + float(np.sqrt(above @ alike_TT @ above))
    return value, max(0.0, low), min(1.0, high)


def _correlations(rows: Rows, stratum: Codes, rates: Floats) -> Floats:
    """Return the correlation of the rates of the turns, from 0 to 1: `[T, T]`.

    Where all replies of a turn are alike it is unknown: 1, the cautious value.
    """
    sizes = np.bincount(stratum)
    residuals = (rows.value - rates[stratum]) / sizes[stratum]
    ways = rows.ways
    total = _shared(ways.dialogue, stratum, residuals)
    if num_groups(ways.instruction) >= MIN_INSTRUCTIONS:
        total += _shared(ways.instruction, stratum, residuals)
        total -= _shared(ways.case, stratum, residuals)
    variance = np.diag(total)
    is_known = variance > 1e-12
    scale = np.sqrt(np.where(is_known, variance, 1.0))
    alike: Floats = np.clip(total / np.outer(scale, scale), 0.0, 1.0)
    alike[~is_known] = 1.0
    alike[:, ~is_known] = 1.0
    np.fill_diagonal(alike, 1.0)
    return alike


def _shared(groups: Codes, stratum: Codes, residuals: Floats) -> Floats:
    """Return the sum over groups of the products of their residuals at two turns: `[T, T]`."""
    names, codes = np.unique(groups, return_inverse=True)
    sums = np.zeros((len(names), int(stratum.max()) + 1))
    np.add.at(sums, (codes, stratum), residuals)
    return sums.T @ sums


def turn_weights(turns: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return what each turn weighs in the area: half the way to its neighbours, sum 1.

    Args:
        turns: rising, at least one.
    """
    if len(turns) == 1:
        return np.ones(1)
    halves = np.diff(turns) / 2
    weights = np.zeros(len(turns))
    weights[:-1] += halves
    weights[1:] += halves
    return weights / float(turns[-1] - turns[0])
