"""Two-sided quantiles of Student's t, so that no scipy is needed at run time."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

SERIES_LIMIT = 200
"""Above this the expansion around the normal quantile is exact to 1e-9."""


def central_probability(t: float, degrees: int) -> float:
    """Return P(-t < T < t) for whole degrees of freedom.

    The finite series of Abramowitz and Stegun, 26.7.3 and 26.7.4.
    """
    theta = math.atan(t / math.sqrt(degrees))
    sine, cosine_squared = math.sin(theta), math.cos(theta) ** 2
    is_odd = degrees % 2
    term = math.cos(theta) if is_odd else 1.0
    total = 0.0 if degrees == 1 else term
    for k in range(2 + is_odd, degrees - 1, 2):
        term *= cosine_squared * (k - 1) / k
        total += term
    return 2 / math.pi * (theta + sine * total) if is_odd else sine * total


@lru_cache(maxsize=4096)
def t_quantile(central: float, degrees: int) -> float:
    """Return t with P(-t < T < t) = `central`; at 0.95 from 12.706 (1 degree) down to 1.960.

    Raises:
        ValueError: fewer than 1 degree of freedom.
    """
    if degrees < 1:
        raise ValueError(f"{degrees} degrees of freedom: expected at least 1")
    if degrees > SERIES_LIMIT:
        return _expansion(central, degrees)
    low, high = 0.0, 13.0
    while central_probability(high, degrees) < central:
        high *= 2
    while high - low > 1e-12:
        middle = (low + high) / 2
        if central_probability(middle, degrees) < central:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _expansion(central: float, degrees: int) -> float:
    """Cornish-Fisher expansion (Abramowitz and Stegun, 26.7.5)."""
    z, v = NormalDist().inv_cdf((1 + central) / 2), float(degrees)
    return (
        z
        + (z**3 + z) / (4 * v)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
    )
