"""Paired difference of two arms at a turn: the same dialogues under both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from eval.metrics.curves import ALL, METRICS
from eval.metrics.outcomes import Outcome, clusters
from eval.metrics.wilson import wilson_interval
from eval.samples import Sample

Cluster = tuple[int, int]
"""(passes, decided) of one dialogue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Rate of `arm` less rate of `baseline` at a turn, over dialogues that both have."""

    arm: str
    baseline: str
    metric: str
    history: str
    split: str
    turn: int
    difference: float
    """From -1 to 1."""
    low: float
    high: float
    num_dialogues: int
    num_resamples: int
    seed: int

    def as_dict(self) -> dict[str, Any]:
        """Return the flat record of `results.json`."""
        return asdict(self)


def paired_difference(
    ours: Mapping[str, Cluster],
    theirs: Mapping[str, Cluster],
    *,
    seed: int = 0,
    num_resamples: int = 10_000,
) -> tuple[float, float, float, int] | None:
    """Return difference, low and high bound (95 %), and the number of dialogues.

    Dialogues are resampled with their replies under both arms (percentile
    bootstrap), so that an easy dialogue is easy for both. Where all dialogues
    agree, every resample is the same and the bootstrap says nothing; the bounds
    then allow for as many unlike dialogues as Wilson does for 0 of n.

    Args:
        ours: dialogue -> (passes, decided) of the arm.
        theirs: the same of the baseline.
        seed: of the resampling.
        num_resamples: how many.

    Returns:
        None where the arms share no dialogue with a decided reply.
    """
    shared = sorted(set(ours) & set(theirs))
    if not shared:
        return None
    table = np.array([(*ours[d], *theirs[d]) for d in shared], dtype=np.float64)
    num = len(shared)
    difference = float(_difference(table.sum(axis=0)))
    per_dialogue = table[:, 0] / table[:, 1] - table[:, 2] / table[:, 3]
    if np.ptp(per_dialogue) == 0:
        unlike = wilson_interval(0, num)[1]
        low, high = difference - unlike * (1 + difference), difference + unlike * (1 - difference)
        return difference, low, high, num
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(num, np.full(num, 1 / num), size=num_resamples)
    low, high = np.quantile(_difference(weights @ table), (0.025, 0.975))
    return difference, float(low), float(high), num


def differences(
    samples: Iterable[Sample], baseline: str = "base", *, seed: int = 0, num_resamples: int = 10_000
) -> list[Difference]:
    """Return the difference of every other arm from the baseline, by metric, split and turn.

    Splits include the total, "all". An arm without a dialogue in common with the
    baseline at a turn has no record there.
    """
    groups: dict[tuple[str, str], dict[str, list[Sample]]] = defaultdict(lambda: defaultdict(list))
    for sample in samples:
        for split in (ALL, sample.split):
            groups[sample.history, split][sample.arm].append(sample)
    found = []
    for (history, split), by_arm in groups.items():
        for metric, measure in METRICS.items():
            base = _by_turn(measure(by_arm.get(baseline, ())))
            for arm in by_arm:
                if arm == baseline:
                    continue
                for turn, ours in _by_turn(measure(by_arm[arm])).items():
                    result = paired_difference(
                        ours, base.get(turn, {}), seed=seed, num_resamples=num_resamples
                    )
                    if result is None:
                        continue
                    difference, low, high, num_dialogues = result
                    found.append(
                        Difference(
                            arm=arm,
                            baseline=baseline,
                            metric=metric,
                            history=history,
                            split=split,
                            turn=turn,
                            difference=difference,
                            low=low,
                            high=high,
                            num_dialogues=num_dialogues,
                            num_resamples=num_resamples,
                            seed=seed,
                        )
                    )
    return found


def _by_turn(outcomes: Mapping[int, Sequence[Outcome]]) -> dict[int, dict[str, Cluster]]:
    return {turn: clusters(outcomes[turn]) for turn in sorted(outcomes)}


def _difference(totals: npt.NDArray[np.float64]) -> Any:
    """Difference of the two rates of (passes, decided, passes, decided) in the last axis."""
    return totals[..., 0] / totals[..., 1] - totals[..., 2] / totals[..., 3]
