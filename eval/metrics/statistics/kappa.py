"""Cohen's kappa of two raters on clustered cases, with a 95 % interval.

Cohen (1960, Educ. Psychol. Meas. 20:37-46): kappa = (po - pe) / (1 - pe), the
agreement beyond what two raters of these base rates would reach by chance.

Replies of one dialogue resemble each other, so the interval is a percentile
bootstrap over whole dialogues, its quantiles moved outwards as Hesterberg (2015,
Am. Stat. 69:371-386, the expanded percentile interval) does, since few dialogues
vary less than what they are drawn from. Dialogues with equal counts are drawn as
one kind, which is the same bootstrap at a cost that does not grow with their number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from eval.metrics.statistics.clustered import clustered_interval

LEAST_DEFINED = 0.95
"""Share of resamples in which kappa must exist for their quantiles to be bounds."""


@dataclass(frozen=True, slots=True)
class Table:
    """How often two raters passed or failed the same replies."""

    both_pass: int
    both_fail: int
    only_rules: int
    """Passed by the rules alone."""
    only_judge: int
    """Passed by the judge alone."""

    @property
    def total(self) -> int:
        """Replies that both decided."""
        return self.both_pass + self.both_fail + self.only_rules + self.only_judge

    @property
    def agreement(self) -> float | None:
        """Share of replies on which both say the same; None without any."""
        return (self.both_pass + self.both_fail) / self.total if self.total else None

    @property
    def base_rates(self) -> tuple[float | None, float | None]:
        """Share that the rules pass, and that the judge passes."""
        if not self.total:
            return None, None
        return (
            (self.both_pass + self.only_rules) / self.total,
            (self.both_pass + self.only_judge) / self.total,
        )


def cohen_kappa(table: Table) -> float | None:
    """Return kappa, None where it does not exist: no reply, or one verdict for all by both."""
    if not table.total:
        return None
    found = float(_kappas(np.array(astuple(table), dtype=np.float64)))
    return None if np.isnan(found) else found


def kappa_interval(
    tables: Iterable[Table], *, seed: int = 0, num_resamples: int = 10_000
) -> tuple[float, float] | None:
    """Return the bounds of kappa over dialogues.

    Where every resample gives the same (raters that agree throughout), the
    bootstrap says nothing; the bounds then follow from the clustered interval of
    the raw agreement, at the base rates as they are.

    Args:
        tables: one for each dialogue, in any order; empty ones are passed over.
        seed: of the resampling.
        num_resamples: how many.

    Returns:
        None where kappa does not exist, or not in enough of the resamples (nearly
        every reply has the same verdict by both).
    """
    counts = np.array([astuple(t) for t in tables if t.total], dtype=np.float64)
    total = Table(*counts.sum(axis=0).astype(int).tolist()) if len(counts) else Table(0, 0, 0, 0)
    point = cohen_kappa(total)
    if point is None:
        return None
    kinds, sizes = np.unique(counts, axis=0, return_counts=True)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(counts), sizes / len(counts), size=num_resamples)
    kappas = _kappas(drawn @ kinds)
    defined = kappas[~np.isnan(kappas)]
    if len(kinds) == 1 or (len(defined) and np.ptp(defined) == 0):
        return _from_agreement(counts, point, total)
    if len(defined) < LEAST_DEFINED * num_resamples:
        return None
    tail = expanded_tail(len(counts))
    low, high = np.quantile(defined, (tail, 1 - tail))
    return float(low), float(high)


def expanded_tail(num_clusters: int) -> float:
    """Return the quantile that leaves 2.5 % outside after what few clusters cost, at most 0.025."""
    widened = math.sqrt(num_clusters / (num_clusters - 1)) * float(stdtrit(num_clusters - 1, 0.975))
    return math.erfc(widened / math.sqrt(2)) / 2


def _from_agreement(
    counts: npt.NDArray[np.float64], point: float, total: Table
) -> tuple[float, float]:
    """Return the bounds of kappa that those of the raw agreement allow, around the point."""
    agreed = [(int(row[0] + row[1]), int(row.sum())) for row in counts]
    chance = _chance(np.array(astuple(total), dtype=np.float64))
    low, high = ((bound - chance) / (1 - chance) for bound in clustered_interval(agreed))
    return max(-1.0, min(float(low), point)), min(1.0, max(float(high), point))


def _kappas(tables: npt.NDArray[np.float64]) -> Any:
    """Return kappa of the tables in the last axis; NaN where it does not exist."""
    total = tables.sum(axis=-1)
    agreed = (tables[..., 0] + tables[..., 1]) / total
    chance = _chance(tables)
    # 1 - chance is 0 if both raters have one verdict for all, and the same.
    rest = np.where(chance >= 1, np.nan, 1 - chance)
    return (agreed - chance) / rest


def _chance(tables: npt.NDArray[np.float64]) -> Any:
    """Return the agreement that the base rates alone would give."""
    total = tables.sum(axis=-1)
    rules = (tables[..., 0] + tables[..., 2]) / total
    judge = (tables[..., 0] + tables[..., 3]) / total
    return rules * judge + (1 - rules) * (1 - judge)
