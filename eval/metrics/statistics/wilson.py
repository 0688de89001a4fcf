"""Wilson score interval of a rate (Wilson 1927, JASA 22:209-212).

Written out, since scipy's (`binomtest(...).proportion_ci`) takes whole numbers of cases only.
"""

from __future__ import annotations

import math

from scipy.special import ndtri

Z_95 = float(ndtri(0.975))
"""Two-sided 95 % quantile of the normal distribution."""


def wilson_interval(successes: int, total: int) -> tuple[float, float]:
    """Return the interval of `successes` out of `total` independent cases; (0, 1) of no case."""
    return wilson_from_rate(successes / total, total) if total else (0.0, 1.0)


def wilson_from_rate(rate: float, effective_total: float) -> tuple[float, float]:
    """Return the interval of a rate that is worth `effective_total` independent cases.

    Args:
        rate: from 0 to 1.
        effective_total: above 0; need not be whole (clustered replies are worth fewer cases).
    """
    square = Z_95 * Z_95
    shrink = 1 + square / effective_total
    centre = (rate + square / (2 * effective_total)) / shrink
    variance = rate * (1 - rate) / effective_total + square / (4 * effective_total**2)
    half = Z_95 * math.sqrt(variance) / shrink
    # Rounding must not push a bound past the rate, or 0 past 0.
    low = 0.0 if rate == 0 else max(0.0, min(rate, centre - half))
    high = 1.0 if rate == 1 else min(1.0, max(rate, centre + half))
    return low, high
