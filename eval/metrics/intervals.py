"""Intervals of rates and of paired differences, by how many independent replies a run is worth.

Replies of one dialogue resemble each other, and so do replies under one instruction: a model that
cannot speak Polish fails in every dialogue that asks for it. The two cross, since an instruction
stands over several dialogues. The interval is Wilson's with an effective number of replies (Korn and
Graubard 1998, Survey Methodology 24:193-201; Dean and Pagano 2015, J. Surv. Stat. Methodol.
3:484-503):

1. For each way of grouping (dialogue, instruction, and case, which is both; dialogues that begin alike are
   one): D, I and C, the variance of the rate if groups are independent, over that of as many independent
   replies.
2. Inflation = D + I - C, the two-way variance of Cameron, Gelbach and Miller (2011, J. Bus. Econ.
   Stat. 29:238-249), and at least each of D, I and 1.
3. Degrees of freedom after Satterthwaite: D - C rests on the number of dialogues, I - C on that of
   instructions, the rest on that of replies.
4. Effective number = n / inflation * (t[n - 1] / t[degrees])**2. The last factor pays for a variance
   that few groups estimate.

Deviation: each variance is estimated with two pseudo-groups of mean size and weight `PSEUDO`, one
that passes throughout and one that fails throughout (after Agresti and Coull, 1998). At rates near 0
and 1 the plain two-way standard error is 0 or noise, and its interval covers far less than 95 %:
results/archive/intervals.md has the measurement. The rate itself stays as counted.

Fewer than `MIN_INSTRUCTIONS` instructions are no sample of instructions: the interval is then about
these alone, and only dialogues count as drawn. With one reply a dialogue and instruction the
inflation is 1: plain Wilson.

A paired difference (Agresti and Min 2005, Statistics in Medicine 24:729-740): Wald's interval after
half a pair was added to each of the four outcomes of a pair, with the effective number of pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

Z_95 = float(ndtri(0.975))
"""Two-sided 95 % quantile of the normal distribution."""


def wilson_interval(successes: int, total: int) -> tuple[float, float]:
    """Return the interval of `successes` out of `total` independent cases; (0, 1) of no case."""
    return wilson_from_rate(successes / total, total) if total else (0.0, 1.0)


def wilson_from_rate(rate: float, effective_total: float) -> tuple[float, float]:
    """Return the interval of a rate that is worth `effective_total` independent cases (above 0)."""
    square = Z_95 * Z_95
    shrink = 1 + square / effective_total
    centre = (rate + square / (2 * effective_total)) / shrink
    variance = rate * (1 - rate) / effective_total + square / (4 * effective_total**2)
    half = Z_95 * math.sqrt(variance) / shrink
    # Rounding must not push a bound past the rate, or 0 past 0.
    low = 0.0 if rate == 0 else max(0.0, min(rate, centre - half))
    high = 1.0 if rate == 1 else min(1.0, max(rate, centre + half))
    return low, high


MIN_INSTRUCTIONS = 10
"""From so many on, a rate speaks of instructions like these and not of these alone."""
PSEUDO = 0.1
"""Weight of the two pseudo-groups; `tests/unit/eval/metrics/test_intervals_cover.py` measures the coverage."""

Codes = npt.NDArray[np.int64]
"""A number from 0 for each reply; equal numbers are one group."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ways:
    """What groups the replies of a run: three codes a reply."""

    dialogue: Codes
    """Dialogues that begin with the same exchange have the same code."""
    instruction: Codes
    """Replies of a plain dialogue are a group of their own."""
    case: Codes
    """Dialogue and instruction together."""

    def where(self, chosen: npt.NDArray[Any] | slice) -> Ways:
        """Return the ways of the chosen replies (a mask, indices or a slice)."""
        return Ways(self.dialogue[chosen], self.instruction[chosen], self.case[chosen])


def crossed_interval(passed: Floats, ways: Ways) -> tuple[float, float]:
    """Return the interval of a rate over dialogues and, if they are enough, over instructions.

    `passed` holds 1.0 or 0.0 a reply; empty gives (0, 1), since all is possible.
    """
    if not len(passed):
        return 0.0, 1.0
    return wilson_from_rate(float(passed.mean()), effective_size(passed, ways))


def effective_size(values: Floats, ways: Ways, least: float = 0.0) -> float:
    """Return how many independent replies the replies are worth, from 1 to their number.

    The rate is the mean of `values`, of at least one reply. `least` is their least possible value, -1 for
    differences; the largest is 1.
    """
    num = len(values)
    by_dialogue, num_dialogues = inflation(values, ways.dialogue, least)
    if num == 1 or num_dialogues == 1:
        return 1.0
    by_case, _ = inflation(values, ways.case, least)
    by_instruction, num_instructions = inflation(values, ways.instruction, least)
    if num_instructions < MIN_INSTRUCTIONS:
        # Cases of one dialogue are then alike through the dialogue alone.
        by_case, by_instruction, num_instructions = 1.0, 1.0, num_dialogues
    total = max(1.0, by_dialogue, by_instruction, by_dialogue + by_instruction - by_case)
    spread = (
        1 / (num - 1)
        + max(0.0, by_dialogue - by_case) ** 2 / (num_dialogues - 1)
        + max(0.0, by_instruction - by_case) ** 2 / (num_instructions - 1)
    )
    degrees = max(min(num_dialogues, num_instructions) - 1, int(total**2 / spread))
    # Quantiles of Student's t that leave 2.5 % above them.
    price = float(stdtrit(num - 1, 0.975) / stdtrit(min(degrees, num - 1), 0.975))
    return max(1.0, num / total * price**2)


def num_groups(codes: Codes) -> int:
    """Return how many different codes there are."""
    return int(np.count_nonzero(np.bincount(codes))) if len(codes) else 0


def inflation(values: Floats, groups: Codes, least: float = 0.0) -> tuple[float, int]:
    """Return by how much grouping inflates the variance of the mean, and the number of groups."""
    count, num = num_groups(groups), len(groups)
    # With two pseudo-groups of mean size, one at each extreme.
    share = PSEUDO / count
    weight = 1 + 2 * share
    mean = (float(values.mean()) + share * (least + 1)) / weight
    square = (float(np.mean(values**2)) + share * (least**2 + 1)) / weight
    residuals = np.bincount(groups, values - mean) / num
    pseudo = PSEUDO / count**2 * ((least - mean) ** 2 + (1 - mean) ** 2)
    all_groups = count + 2 * PSEUDO
    grouped = all_groups / (all_groups - 1) * (residuals @ residuals + pseudo) / weight**2
    independent = (square - mean**2) / (num * weight - 1)
    return float(grouped / independent), count


def paired_interval(differences: npt.NDArray[np.int64], ways: Ways) -> tuple[float, float, float]:
    """Return the mean of paired differences (-1, 0 or 1 a pair, at least one), and its 95 % interval."""
    difference = float(differences.mean())
    num = effective_size(differences.astype(np.float64), ways, -1.0)
    discordant = float(np.mean(differences != 0))
    added = num + 2
    centre = difference * num / added
    error = math.sqrt(((discordant * num + 1) / added - centre**2) / added)
    low, high = centre - Z_95 * error, centre + Z_95 * error
    return difference, max(-1.0, min(difference, low)), min(1.0, max(difference, high))
