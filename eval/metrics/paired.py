"""Paired differences of two arms at one turn or over all, with the exact sign-flip test.

If two arms were the same, each dialogue could as well have come out with its two arms exchanged: the
sign of its difference is a coin. The p-value is the share of all sign patterns whose sum is at least
as far from zero as the observed one (Fisher's randomisation test). With one reply a dialogue that is
McNemar's exact test.

All patterns are counted, however many (`scipy.stats.permutation_test` draws some of them): the sum of
+d or -d over the groups has the characteristic function prod cos(d * angle), and its inverse Fourier
transform is the whole distribution, exact to about 1e-14.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from eval.metrics.curves import ALL, OutcomeColumns, by_arm
from eval.metrics.intervals import (
    MIN_INSTRUCTIONS,
    Codes,
    Ways,
    num_groups,
    paired_interval,
)
from eval.metrics.table import METRICS, Outcome
from eval.records.arms import CANNED
from eval.records.samples import Sample


def sign_flip_p_value(differences: npt.NDArray[np.int64], ways: Ways) -> float:
    """Return the two-sided p-value of "the arms are the same"; 1 without a pair.

    A difference is -1, 0 or 1. The test is made over dialogues and over instructions, and the larger p-value
    counts: a gain must show over the instructions as well. Fewer than `MIN_INSTRUCTIONS` are taken as
    given, not tested.
    """
    p_value = _sign_flips(differences, ways.dialogue)
    if num_groups(ways.instruction) < MIN_INSTRUCTIONS:
        return p_value
    return max(p_value, _sign_flips(differences, ways.instruction))


def _sign_flips(differences: npt.NDArray[np.int64], groups: Codes) -> float:
    sums = np.abs(np.rint(np.bincount(groups, differences)).astype(np.int64))
    sizes, counts = np.unique(sums[sums > 0], return_counts=True)
    num, observed = int(counts.sum()), abs(int(differences.sum()))
    if observed == 0:
        return 1.0
    reach = int(sizes @ counts)
    num_points = 1 << (2 * reach + 1).bit_length()
    angles = 2 * np.pi * np.arange(num_points // 2 + 1) / num_points
    function = np.ones_like(angles)
    for size, count in zip(sizes, counts, strict=True):
        function *= np.cos(angles * size) ** count
    distribution = np.fft.irfft(function, num_points)
    tail = 2 * float(distribution[observed : reach + 1].sum())
    # Not below the chance of the two most extreme patterns, which rounding could undercut.
    return min(1.0, max(tail, 2.0 ** (1 - num)))


@dataclass(frozen=True)
class Difference:
    """Rate of `arm` less rate of `baseline`, over replies that are decided under both."""

    difference: float
    low: float
    high: float
    arm: str
    baseline: str
    metric: str
    history: str
    split: str
    turn: int | None
    """None: all turns of the curve together, each pair of replies with the same weight. That is one test."""
    p_value: float
    """Of the exact sign-flip test over dialogues and instructions, two-sided; not adjusted for the
    number of turns."""
    num_dialogues: int
    num_pairs: int


def differences(samples: Iterable[Sample], baseline: str = "base") -> list[Difference]:
    """Return the difference of every arm of a model from the baseline, by metric, split and turn.

    After the turns of a curve that has several comes the difference over all of them. Splits include the
    total, "all". An arm without a decided reply in common with the baseline at a turn has no record there.
    """
    arms = by_arm(samples)
    compared: list[Difference] = []
    for history in dict.fromkeys(history for _, history in arms):
        for metric, measure in METRICS.items():
            base = _decided(measure.count(arms.get((baseline, history), ())))
            for (arm, other), members in arms.items():
                if other == history and arm not in (baseline, CANNED) and base:
                    rows = _pairs(_decided(measure.count(members)), base)
                    where = {"arm": arm, "baseline": baseline, "metric": metric, "history": history}
                    compared += _differences(where, rows)
    return compared


def _decided(outcomes: Iterable[Outcome]) -> dict[tuple[str, ...], Outcome]:
    """Return the decided outcomes by what the arms have in common."""
    return {o.sample.key[1:]: o for o in outcomes if o.status != "undecided"}


def _pairs(
    ours: Mapping[tuple[str, ...], Outcome], theirs: Mapping[tuple[str, ...], Outcome]
) -> OutcomeColumns:
    """Return the outcomes of both as rows whose value is -1, 0 or 1: ours less theirs.

    Cases of other files may have the same ids: only replies to the same words are a pair.
    """
    alike = (k for k in ours if k in theirs and _asked(ours[k].sample) == _asked(theirs[k].sample))
    shared = sorted(alike, key=lambda k: ours[k].turn)
    values = [(ours[k].status == "pass") - (theirs[k].status == "pass") for k in shared]
    rows = OutcomeColumns.of(ours[k] for k in shared)
    return replace(rows, value=np.array(values, dtype=np.float64))


def _asked(sample: Sample) -> tuple[str, str]:
    """Return the words that a reply answers: the user's, and those of its instruction."""
    return sample.user, sample.instruction.text if sample.instruction else ""


def _differences(where: dict[str, Any], rows: OutcomeColumns) -> Iterator[Difference]:
    for split, family, part in rows.slices():
        if family == ALL:
            turns: list[tuple[int | None, OutcomeColumns]] = list(part.by_turn())
            for turn, pairs in [*turns, (None, part)] if len(turns) > 1 else turns:
                values = pairs.value.astype(np.int64)
                yield Difference(
                    *paired_interval(values, pairs.ways),
                    **where,
                    split=split,
                    turn=turn,
                    p_value=sign_flip_p_value(values, pairs.ways),
                    num_dialogues=num_groups(pairs.ways.dialogue),
                    num_pairs=len(values),
                )
