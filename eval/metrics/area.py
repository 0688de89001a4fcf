"""Area under the curve: the mean rate over the turns, as one number from 0 to 1."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eval.metrics.clustered import Measured, effective_size
from eval.metrics.outcomes import Rows
from eval.metrics.wilson import wilson_from_rate


def area(rows: Rows) -> tuple[float, float, float] | None:
    """Return area, low and high bound (95 %), None where nothing was decided.

    Trapezoids between the turns at which something was decided, over the distance
    from the first to the last; with one turn, its rate. The area is a weighted
    mean of replies, so its interval is that of a rate, see `eval.metrics.clustered`:
    dialogues are followed over their turns.
    """
    decided = rows.where(~np.isnan(rows.value))
    if not len(decided.value):
        return None
    turns, stratum, sizes = np.unique(decided.turn, return_inverse=True, return_counts=True)
    weights = (turn_weights(turns) / sizes)[stratum]
    measured = Measured(decided.value, weights, stratum.astype(np.int64))
    # The sum of weights is 1 but for rounding.
    value = min(1.0, measured.mean)
    low, high = wilson_from_rate(value, effective_size(measured, decided.ways))
    return value, low, high


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
