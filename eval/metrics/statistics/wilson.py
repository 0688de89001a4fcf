"""Wilson score interval of a rate (Wilson 1927, JASA 22:209-212)."""

from __future__ import annotations

import math

Z_95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""


def wilson_interval(successes: int, total: int, z: float = Z_95) -> tuple[float, float]:
    """Return the interval of `successes` out of `total` independent cases.

    Nothing measured (`total` 0) leaves everything possible: (0, 1).

    Raises:
        ValueError: not 0 <= successes <= total.
    """
    if not 0 <= successes <= total:
        raise ValueError(f"{successes} successes of {total}: expected 0 <= successes <= total")
    if total == 0:
        return 0.0, 1.0
    return wilson_from_rate(successes / total, total, z)


def wilson_from_rate(rate: float, effective_total: float, z: float = Z_95) -> tuple[float, float]:
    """Return the interval of a rate that is worth `effective_total` independent cases.

    Args:
        rate: from 0 to 1.
        effective_total: above 0; need not be whole (clustered replies are worth
            fewer cases than there are).
        z: quantile.
    """
    shrink = 1 + z * z / effective_total
    centre = (rate + z * z / (2 * effective_total)) / shrink
    variance = rate * (1 - rate) / effective_total + z * z / (4 * effective_total**2)
    half = z * math.sqrt(variance) / shrink
    # Rounding must not push a bound past the rate, or 0 past 0.
    low = 0.0 if rate == 0 else max(0.0, min(rate, centre - half))
    high = 1.0 if rate == 1 else min(1.0, max(rate, centre + half))
    return low, high
