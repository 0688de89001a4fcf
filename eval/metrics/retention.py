"""Retention: how much of what the model can do alone is left at a turn of a dialogue.

Rate of an arm over rate of the arm `alone`, at the same cases and turns. The interval is a percentile
bootstrap over cases (Efron and Tibshirani, 1993, chapter 13): a case brings both of its replies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Final

import numpy as np

from eval.metrics.ability import ABLE, UNABLE, able_instructions
from eval.metrics.curves import ALL, by_arm
from eval.metrics.intervals import Floats
from eval.metrics.table import Outcome, joint, keeps
from eval.records.arms import ALONE, CANNED
from eval.records.samples import Sample

NUM_RESAMPLES: Final = 1000
LEAST_CASES: Final = 20
"""Fewer cases get no interval: too few to say more than their counts."""


@dataclass(frozen=True, kw_only=True)
class Retention:
    """Retention of an arm at a turn."""

    arm: str
    metric: str
    """`joint`, or `keeps` where no turn expects an answer."""
    history: str
    split: str
    """`all`, `able` or `unable`, see `eval.metrics.ability`."""
    family: str
    turn: int | None
    """None: all turns together."""
    retention: float | None
    """None where `alone` never passes."""
    low: float | None
    high: float | None
    """Bounds of the 95 % interval; None below `LEAST_CASES` cases."""
    num_cases: int
    num_passed: int
    """Of the arm, at the cases and turns that both decide."""
    num_alone: int
    """The same of `alone`."""


def retentions(samples: Sequence[Sample], seed: int = 0) -> list[Retention]:
    """Return the retention of every arm with a history, by history, ability, family and turn.

    Empty in a run without the arm `alone`. Only replies that are decided under both count. `seed` is that
    of the bootstrap.
    """
    arms = by_arm(samples)
    able = able_instructions(samples)
    records: list[Retention] = []
    for (arm, history), members in arms.items():
        alone = arms.get((ALONE, history), [])
        metric = joint if any(s.joint for s in alone) else keeps
        theirs = {o.sample.key[1:]: o for o in metric(alone) if o.status != "undecided"}
        if arm in (ALONE, CANNED) or not theirs:
            continue
        pairs = [
            (o, theirs[o.sample.key[1:]])
            for o in metric(members)
            if o.status != "undecided" and o.sample.key[1:] in theirs
        ]
        for split, family, turn, part in _slices(pairs, able or frozenset()):
            where = {"arm": arm, "history": history, "split": split, "family": family}
            records.append(_retention(part, seed, **where, metric=metric.__name__, turn=turn))
    return records


OutcomePair = tuple[Outcome, Outcome]


def _slices(
    pairs: Sequence[OutcomePair], able: frozenset[str]
) -> Iterator[tuple[str, str, int | None, list[OutcomePair]]]:
    """Yield each split, family and turn that has pairs, and all turns together."""
    families = sorted({o.sample.family for o, _ in pairs})
    for split in (ALL, ABLE, UNABLE):
        of_split = [p for p in pairs if split == ALL or (_name(p) in able) == (split == ABLE)]
        for family in (ALL, *families):
            part = [p for p in of_split if family in (ALL, p[0].sample.family)]
            part.sort(key=lambda p: p[0].turn)
            for turn, members in groupby(part, key=lambda p: p[0].turn):
                yield split, family, turn, list(members)
            if part:
                yield split, family, None, part


def _name(pair: OutcomePair) -> str:
    instruction = pair[0].sample.instruction
    return instruction.id if instruction else ""


def _retention(
    pairs: Iterable[OutcomePair], seed: int, *, turn: int | None, **where: str
) -> Retention:
    cases: dict[tuple[str, ...], list[int]] = {}
    for ours, theirs in pairs:
        counts = cases.setdefault(ours.sample.case, [0, 0])
        counts[0] += ours.status == "pass"
        counts[1] += theirs.status == "pass"
    passed, alone = np.array(list(cases.values()), dtype=np.float64).T
    low, high = _interval(passed, alone, seed)
    return Retention(
        **where,
        turn=turn,
        retention=float(passed.sum() / alone.sum()) if alone.sum() else None,
        low=low,
        high=high,
        num_cases=len(cases),
        num_passed=int(passed.sum()),
        num_alone=int(alone.sum()),
    )


def _interval(passed: Floats, alone: Floats, seed: int) -> tuple[float | None, float | None]:
    if len(passed) < LEAST_CASES:
        return None, None
    weights = _resamples(len(passed), seed)
    below = weights @ alone
    if not below.all():
        return None, None
    low, high = np.percentile(weights @ passed / below, [2.5, 97.5])
    return float(low), float(high)


@lru_cache(maxsize=8)
def _resamples(num_cases: int, seed: int) -> Floats:
    """Return how often each resample holds each case."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(num_cases, [1 / num_cases] * num_cases, size=NUM_RESAMPLES).astype(
        np.float64
    )


def shown(records: Iterable[Mapping[str, object]], **wanted: object) -> Mapping[str, object] | None:
    """Return the first record of `results.json` with the wanted values, None without one."""
    return next((r for r in records if all(r[k] == v for k, v in wanted.items())), None)
