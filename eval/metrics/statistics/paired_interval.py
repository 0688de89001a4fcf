"""Interval of a paired difference, and the smallest one that a sample could have seen.

Agresti and Min (2005, Statistics in Medicine 24:729-740): Wald's interval after
half a pair was added to each of the four outcomes of a pair. Deviation: the number
of pairs is the effective number of `eval.metrics.statistics.clustered`, since pairs of one
dialogue or instruction resemble each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import ndtri

from eval.metrics.statistics.clustered import Measured, Ways, effective_size, num_groups
from eval.metrics.statistics.wilson import Z_95

Z_POWER = float(ndtri(0.8))


@dataclass(frozen=True, kw_only=True)
class PairedInterval:
    """A difference with its bounds, from -1 to 1."""

    difference: float
    low: float
    high: float
    detectable: float | None
    """Smallest true difference that samples like this show in 4 of 5 cases at the 5 % level; None where
    they would not even show a difference of 1."""


def paired_interval(differences: npt.NDArray[np.int64], ways: Ways) -> PairedInterval:
    """Return the mean of paired differences with its 95 % interval.

    Args:
        differences: -1, 0 or 1 for each pair of replies, at least one.
        ways: the same pairs.
    """
    measured = Measured(differences.astype(np.float64), (-1.0, 1.0))
    difference, num = measured.mean, effective_size(measured, ways)
    discordant = float(np.mean(differences != 0))
    added = num + 2
    centre = difference * num / added
    error = math.sqrt(((discordant * num + 1) / added - centre**2) / added)
    against = (discordant - abs(difference)) / 2
    return PairedInterval(
        difference=difference,
        low=max(-1.0, min(difference, centre - Z_95 * error)),
        high=min(1.0, max(difference, centre + Z_95 * error)),
        # Fewer dialogues can give no p below 0.05, whatever the replies (`p_values`).
        detectable=detectable(num, (against * num + 0.5) / added)
        if 2.0 ** (1 - num_groups(ways.dialogue)) < 0.05
        else None,
    )


def detectable(num_pairs: float, against: float) -> float | None:
    """Return the smallest true difference that would be found in 80 % of samples like this.

    Found means p < 0.05 in the exact test. Connor (1987, Biometrics 43:207-211) with a continuity
    correction, since the exact test needs one pair more than the normal distribution says:

        num * difference - 1 = 1.96 sqrt(num * q) + 0.84 sqrt(num * (q - difference**2))

    with q = difference + 2 * against, the share of pairs that differ at all.

    Args:
        num_pairs: independent pairs, or what the pairs are worth.
        against: share of pairs that differ in the other direction: noise, above 0.

    Returns:
        None where not even a difference of 1 would be found.
    """

    def shortfall(difference: float) -> float:
        unlike = min(1.0, difference + 2 * against)
        spread = max(0.0, unlike - difference**2)
        wanted = Z_95 * math.sqrt(num_pairs * unlike) + Z_POWER * math.sqrt(num_pairs * spread)
        return wanted + 1 - num_pairs * difference

    return None if shortfall(1.0) > 0 else float(brentq(shortfall, 0.0, 1.0))
