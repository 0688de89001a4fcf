"""Holm's adjustment of p-values (1979, Scandinavian Journal of Statistics 6:65-70)."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Return each p-value so raised that all may be read at one level together.

    The chance that any difference that is none falls below the level is then at most
    that level, however the tests hang together. The order is kept.
    """
    found = [0.0] * len(p_values)
    so_far = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        so_far = max(so_far, min(1.0, p_values[index] * (len(p_values) - rank)))
        found[index] = so_far
    return found
