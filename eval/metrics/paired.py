"""Paired difference of two arms at one turn or over all: the same cases and turns under both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eval.metrics.curves import METRICS, by_arm
from eval.metrics.outcomes import ALL, Outcome, Rows
from eval.metrics.statistics.clustered import num_groups
from eval.metrics.statistics.p_values import holm, sign_flip_p_value
from eval.metrics.statistics.paired_interval import PairedInterval, paired_interval
from eval.records.samples import Sample


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
