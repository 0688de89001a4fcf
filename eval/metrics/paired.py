"""Paired differences of two arms at one turn or over all, with the exact sign-flip test and Holm's adjustment.

If two arms were the same, each dialogue could as well have come out with its two arms exchanged: the
sign of its difference is a coin. The p-value is the share of all sign patterns whose sum is at least
as far from zero as the observed one (Fisher's randomisation test). With one reply a dialogue that is
McNemar's exact test.

All patterns are counted, however many (`scipy.stats.permutation_test` draws some of them): the sum of
+d or -d over the groups has the characteristic function prod cos(d * angle), and its inverse Fourier
transform is the whole distribution, exact to about 1e-14.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from eval.metrics.curves import METRICS, by_arm
from eval.metrics.intervals import (
    MIN_INSTRUCTIONS,
    Codes,
    PairedInterval,
    Ways,
    num_groups,
    paired_interval,
)
from eval.metrics.outcomes import ALL, Outcome, Rows
from eval.records.samples import Sample


def sign_flip_p_value(differences: npt.NDArray[np.int64], ways: Ways) -> float:
    """Return the two-sided p-value of "the arms are the same".

    The test is made over dialogues and over instructions, and the larger p-value counts: a gain must
    show over the instructions as well. Fewer than `MIN_INSTRUCTIONS` are taken as given, not tested.

    Args:
        differences: -1, 0 or 1 for each pair of replies; none gives 1.
        ways: the same pairs.
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


def holm(p_values: Sequence[float]) -> list[float]:
    """Return each p-value raised so that all may be read at one level together, in their order.

    Holm (1979, Scandinavian Journal of Statistics 6:65-70). scipy has the adjustment of Benjamini and
    Hochberg only.
    """
    values = np.array(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    raised = np.minimum(1.0, values[order] * np.arange(len(values), 0, -1))
    found = np.empty_like(values)
    found[order] = np.maximum.accumulate(raised)
    return [float(value) for value in found]


@dataclass(frozen=True, kw_only=True)
class Difference(PairedInterval):
    """Rate of `arm` less rate of `baseline`, over replies that are decided under both."""

    arm: str
    baseline: str
    metric: str
    history: str
    split: str
    turn: int | None
    """None: all turns of the curve together, each pair of replies with the same weight. That is one test,
    and needs no adjustment for many turns."""
    p_value: float
    """Of the exact sign-flip test over dialogues and instructions, two-sided."""
    p_adjusted: float
    """The same after Holm over the turns of this curve; `p_value` for all turns together."""
    num_dialogues: int
    num_pairs: int


def differences(samples: Iterable[Sample], baseline: str = "base") -> list[Difference]:
    """Return the difference of every other arm from the baseline, by metric, split and turn.

    Behind the turns of a curve that has several stands the one of all of them.

    Splits include the total, "all". An arm without a decided reply in common with
    the baseline at a turn has no record there.

    Args:
        samples: of all arms.
        baseline: the arm that the others are compared with.
    """
    arms = by_arm(samples)
    found: list[Difference] = []
    for history in dict.fromkeys(history for _, history in arms):
        for metric, measure in METRICS.items():
            base = _decided(measure(arms.get((baseline, history), ())))
            for (arm, other), members in arms.items():
                if other == history and arm != baseline and base:
                    rows = _pairs(_decided(measure(members)), base)
                    where = {"arm": arm, "baseline": baseline, "metric": metric, "history": history}
                    found += _differences(where, rows)
    return found


def _decided(outcomes: Iterable[Outcome]) -> dict[tuple[str, ...], Outcome]:
    """Return the decided outcomes by what the arms have in common."""
    return {o.sample.key[1:]: o for o in outcomes if o.status != "undecided"}


def _pairs(
    ours: Mapping[tuple[str, ...], Outcome], theirs: Mapping[tuple[str, ...], Outcome]
) -> Rows:
    """Return the outcomes of both as rows whose value is -1, 0 or 1: ours less theirs.

    Cases of other files may have the same ids: only replies to the same words are a pair.
    """
    alike = (k for k in ours if k in theirs and _asked(ours[k]) == _asked(theirs[k]))
    shared = sorted(alike, key=lambda k: ours[k].turn)
    values = [(ours[k].status == "pass") - (theirs[k].status == "pass") for k in shared]
    rows = Rows.of(ours[k] for k in shared)
    return replace(rows, value=np.array(values, dtype=np.float64))


def _asked(outcome: Outcome) -> tuple[str, str]:
    told = outcome.sample.instruction
    return outcome.sample.user, told.text if told else ""


def _differences(where: dict[str, Any], rows: Rows) -> Iterator[Difference]:
    for split, family, part in rows.slices():
        if family != ALL:
            continue
        by_turn = list(part.by_turn())
        tests = [_p_value(pairs) for _, pairs in by_turn]
        for (turn, pairs), *p_values in zip(by_turn, tests, holm(tests), strict=True):
            yield _difference({**where, "split": split, "turn": turn}, pairs, *p_values)
        if len(by_turn) > 1:
            p_value = _p_value(part)
            yield _difference({**where, "split": split, "turn": None}, part, p_value, p_value)


def _p_value(pairs: Rows) -> float:
    return sign_flip_p_value(pairs.value.astype(np.int64), pairs.ways)


def _difference(
    where: dict[str, Any], pairs: Rows, p_value: float, p_adjusted: float
) -> Difference:
    return Difference(
        **where,
        **vars(paired_interval(pairs.value.astype(np.int64), pairs.ways)),
        p_value=p_value,
        p_adjusted=p_adjusted,
        num_dialogues=num_groups(pairs.ways.dialogue),
        num_pairs=len(pairs.value),
    )
