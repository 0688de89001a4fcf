"""Area under the curve: the mean rate over the turns, as one number from 0 to 1.

Its interval is computed from those of the turns by the method of variance estimates recovery (MOVER;
Zou and Donner 2008, Statistics in Medicine 27:1693-1702), with the correlation of the turns over
dialogues and instructions. A variance pooled over all turns would be too small where late turns, which
weigh most, have rates near 0.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eval.metrics.outcomes import Rows
from eval.metrics.statistics.clustered import (
    MIN_INSTRUCTIONS,
    Codes,
    Floats,
    crossed_interval,
    num_groups,
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
