"""How often intervals cover what they should, in simulated runs: the numbers behind the claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import numpy.typing as npt
from checks.simulated import Design, Likeness, Replies, paired_runs, runs, true_area
from scipy.special import stdtrit

from eval.metrics.area import area
from eval.metrics.outcomes import Rows
from eval.metrics.statistics.clustered import Ways, crossed_interval, num_groups
from eval.metrics.statistics.p_values import sign_flip_p_value
from eval.metrics.statistics.paired_interval import paired_interval
from eval.metrics.statistics.wilson import wilson_interval

Interval = tuple[float, float]
NUM_RESAMPLES = 1000
"""Of the bootstrap that the intervals are compared with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Share of runs whose interval holds the true value, for each way of making it."""

    what: str
    """`rate`, `area`, `difference` (at a turn, or of so many pooled), or `power`: a difference of the
    size that is detectable."""
    design: str
    """Dialogues x cases of each x instructions."""
    likeness: Mapping[str, float]
    truth: float
    covered: Mapping[str, float]
    width: Mapping[str, float]
    """Mean width of the intervals."""
    num_runs: int
    rejected: float | None = None
    """Of differences: share of runs with a p-value below 0.05."""
    detectable: float | None = None
    """Of differences: mean of what the runs could have seen."""


def coverage_of_rates(
    design: Design, likeness: Likeness, rates: Sequence[float], num_runs: int, seed: int = 0
) -> list[Coverage]:
    """Return coverage at one turn, for each true rate: ours, and three that know less."""
    found = []
    for index, rate in enumerate(rates):
        made = runs(design, likeness, np.array([rate]), num_runs, seed + index)
        intervals = (
            _of_rate(passed[0].astype(np.float64), ways, n) for n, (passed, ways) in enumerate(made)
        )
        found.append(_coverage("rate", design, likeness, rate, intervals))
    return found


def coverage_of_areas(
    design: Design,
    likeness: Likeness,
    turns: Sequence[int],
    curves: Sequence[Sequence[float]],
    num_runs: int,
    seed: int = 0,
) -> list[Coverage]:
    """Return coverage of the area under curves of true rates at the turns."""
    found = []
    at = np.array(turns, dtype=np.int64)
    for index, curve in enumerate(curves):
        rates = np.array(curve)
        made = runs(design, likeness, rates, num_runs, seed + index)
        intervals = (_of_area(passed, ways, at) for passed, ways in made)
        found.append(_coverage("area", design, likeness, true_area(at, rates), intervals))
    return found


def coverage_of_differences(
    design: Design,
    likeness: Likeness,
    rates: Sequence[tuple[float, float]],
    num_runs: int,
    seed: int = 0,
    num_turns: int = 1,
) -> list[Coverage]:
    """Return coverage of the difference of two arms, and how often the test rejects equality.

    With several turns these are pooled, as in the differences over all turns.
    """
    what = "difference" if num_turns == 1 else f"difference, {num_turns} turns"
    found = []
    for index, pair in enumerate(rates):
        p_values: list[float] = []
        detectable: list[float] = []
        made = paired_runs(design, likeness, pair, num_runs, seed + index, num_turns=num_turns)
        intervals = (_of_difference(passed, ways, p_values, detectable) for passed, ways in made)
        record = _coverage(what, design, likeness, pair[0] - pair[1], intervals)
        found.append(
            replace(
                record,
                rejected=float(np.mean(np.array(p_values) < 0.05)),
                detectable=float(np.mean(detectable)),
            )
        )
    return found


def coverage_of_power(
    design: Design, likeness: Likeness, base: float, num_runs: int, seed: int = 0
) -> Coverage:
    """Return how often a difference of the size that `detectable` names is found.

    The size depends on the rates a little, so it is found in three steps of fewer
    runs; the last one is measured. It is reported as `truth`.

    Args:
        design: of the runs.
        likeness: of their replies.
        base: rate of the lower arm; that of the other one is at most 0.98.
        num_runs: of the last step.
        seed: of all.
    """
    size = 0.3
    for step in range(3):
        pair = (min(0.98, base + size), base)
        (found,) = coverage_of_differences(design, likeness, [pair], num_runs // 3, seed + step)
        size = found.detectable or size
    pair = (min(0.98, base + size), base)
    (found,) = coverage_of_differences(design, likeness, [pair], num_runs, seed + 3)
    return replace(found, what="power")


def _of_rate(passed: npt.NDArray[np.float64], ways: Ways, seed: int) -> dict[str, Interval]:
    sums = np.bincount(ways.dialogue, passed).astype(int)
    sizes = np.bincount(ways.dialogue)
    dialogues = Ways(ways.dialogue, np.zeros_like(ways.dialogue), ways.dialogue)
    return {
        "ours": crossed_interval(passed, ways),
        "two-way standard error": _two_way(passed, ways),
        "dialogues only": crossed_interval(passed, dialogues),
        "bootstrap of dialogues": _bootstrap(sums, sizes, seed),
        "wilson": wilson_interval(int(passed.sum()), len(passed)),
    }


def _of_area(passed: Replies, ways: Ways, turns: npt.NDArray[np.int64]) -> dict[str, Interval]:
    index = np.tile(np.arange(passed.shape[1]), len(turns))
    rows = Rows(
        turn=np.repeat(turns, passed.shape[1]),
        split=np.zeros_like(index),
        family=np.zeros_like(index),
        splits=("train",),
        families=("language",),
        value=passed.astype(np.float64).ravel(),
        is_passed=passed.astype(bool).ravel(),
        ways=ways.where(index),
        num_named=int(ways.instruction.max()) + 1,
    )
    _, low, high = area(rows) or (0.0, 0.0, 1.0)
    return {"ours": (low, high)}


def _of_difference(
    passed: Replies, ways: Ways, p_values: list[float], detectable: list[float]
) -> dict[str, Interval]:
    differences = passed[0].astype(np.int64) - passed[1].astype(np.int64)
    found = paired_interval(differences, ways)
    p_values.append(sign_flip_p_value(differences, ways))
    detectable.append(1.0 if found.detectable is None else found.detectable)
    return {"ours": (found.low, found.high)}


def _two_way(passed: npt.NDArray[np.float64], ways: Ways) -> Interval:
    """Return the interval of Cameron, Gelbach and Miller (2011): rate +- t * two-way standard error.

    Degrees of freedom: the smaller number of groups, less one. A variance below 0 is the larger one-way
    variance, as they advise.
    """
    mean = float(passed.mean())

    def variance(groups: npt.NDArray[np.int64]) -> float:
        num, sums = num_groups(groups), np.bincount(groups, passed - mean) / len(passed)
        return num / (num - 1) * float(sums @ sums)

    dialogue, instruction = variance(ways.dialogue), variance(ways.instruction)
    both = dialogue + instruction - variance(ways.case)
    both = both if both > 0 else max(dialogue, instruction)
    degrees = min(num_groups(ways.dialogue), num_groups(ways.instruction)) - 1
    half = float(stdtrit(degrees, 0.975)) * both**0.5
    return max(0.0, mean - half), min(1.0, mean + half)


def _bootstrap(passed: npt.NDArray[np.int64], total: npt.NDArray[np.int64], seed: int) -> Interval:
    """Return the percentile interval of whole dialogues drawn with replacement."""
    kinds, counts = np.unique(np.stack([passed, total], axis=1), axis=0, return_counts=True)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(passed), counts / len(passed), size=NUM_RESAMPLES) @ kinds
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], (0.025, 0.975))
    return float(low), float(high)


def _coverage(
    what: str,
    design: Design,
    likeness: Likeness,
    truth: float,
    intervals: Iterator[Mapping[str, Interval]],
) -> Coverage:
    made = list(intervals)
    bounds = {name: np.array([run[name] for run in made]) for name in made[0]}
    return Coverage(
        what=what,
        design=str(design),
        likeness=asdict(likeness),
        truth=truth,
        covered={
            name: float(np.mean((b[:, 0] <= truth) & (truth <= b[:, 1])))
            for name, b in bounds.items()
        },
        width={name: float(np.mean(b[:, 1] - b[:, 0])) for name, b in bounds.items()},
        num_runs=len(made),
    )
