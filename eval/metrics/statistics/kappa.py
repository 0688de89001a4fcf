"""Cohen's kappa of two raters on clustered cases, with a 95 % interval.

Cohen (1960, Educ. Psychol. Meas. 20:37-46): kappa = (po - pe) / (1 - pe), the agreement beyond what
two raters of these base rates reach by chance. Replies of one dialogue resemble each other, so the
interval is a percentile bootstrap over whole dialogues.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

NUM_RESAMPLES = 10_000
LEAST_DEFINED = 0.95
"""Share of resamples in which kappa must exist for their quantiles to be bounds."""


class Table(NamedTuple):
    """How often two raters passed or failed the same replies."""

    both_pass: int
    both_fail: int
    only_rules: int
    """Passed by the rules alone."""
    only_judge: int
    """Passed by the judge alone."""


def cohen_kappa(table: Table) -> float | None:
    """Return kappa, None where it does not exist: no reply, or one verdict for all by both."""
    if not sum(table):
        return None
    found = float(_kappas(np.array(table, dtype=np.float64)))
    return None if np.isnan(found) else found


def kappa_interval(tables: Iterable[Table], *, seed: int = 0) -> tuple[float, float] | None:
    """Return the bounds of kappa over dialogues.

    Args:
        tables: one for each dialogue, in any order; empty ones are ignored.
        seed: of the resampling.

    Returns:
        None where kappa exists in too few resamples, or is the same in all of them: then the
        bootstrap says nothing.
    """
    counts = np.array([t for t in tables if sum(t)], dtype=np.float64).reshape(-1, 4)
    if not len(counts):
        return None
    # Dialogues with equal counts are drawn as one kind: the cost does not grow with their number.
    kinds, sizes = np.unique(counts, axis=0, return_counts=True)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(counts), sizes / len(counts), size=NUM_RESAMPLES)
    kappas = _kappas(drawn @ kinds)
    defined = kappas[~np.isnan(kappas)]
    if len(defined) < LEAST_DEFINED * NUM_RESAMPLES or np.ptp(defined) == 0:
        return None
    low, high = np.quantile(defined, (0.025, 0.975))
    return float(low), float(high)


def _kappas(tables: npt.NDArray[np.float64]) -> Any:
    """Return kappa of the tables in the last axis; NaN where it does not exist."""
    total = tables.sum(axis=-1)
    agreed = (tables[..., 0] + tables[..., 1]) / total
    rules = (tables[..., 0] + tables[..., 2]) / total
    judge = (tables[..., 0] + tables[..., 3]) / total
    chance = rules * judge + (1 - rules) * (1 - judge)
    # 1 - chance is 0 if both raters have one verdict for all, and the same.
    rest = np.where(chance >= 1, np.nan, 1 - chance)
    return (agreed - chance) / rest
