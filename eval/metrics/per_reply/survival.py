"""Survival: has the instruction been followed at every turn asked so far."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from eval.metrics.outcomes import Outcome
from eval.metrics.per_reply.adherence import is_asked_to_adhere
from eval.records.samples import Sample
from gatt.verifiers.base import Status

_BADNESS: Final[tuple[Status, ...]] = ("pass", "undecided", "fail")


def survival(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield at each asked turn which cases are still perfect since the first.

    A case is a dialogue under one instruction, within one arm and history. At an asked turn it has the
    worst status so far: fail, then undecided, then pass. Turns that a dialogue does not have, and turns
    at which the instruction does not hold, are not counted.
    """
    cases: dict[tuple[str, ...], list[Sample]] = defaultdict(list)
    for sample in samples:
        if is_asked_to_adhere(sample):
            cases[(*sample.case, sample.arm, sample.history)].append(sample)
    for case in cases.values():
        so_far: Status = "pass"
        for sample in sorted(case, key=lambda s: s.turn):
            so_far = max(so_far, sample.status, key=_BADNESS.index)
            yield Outcome(sample, so_far)
