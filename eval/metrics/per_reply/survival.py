"""Survival: has the instruction been followed at every turn asked so far."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from eval.metrics.outcomes import Outcome
from eval.metrics.per_reply.adherence import is_asked_to_adhere
from eval.records.samples import Sample
from gatt.verifiers.base import Status


def survival(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield at each asked turn which cases are still perfect since the first.

    A case is a dialogue under one instruction, within one arm and history. At
    an asked turn it passes if every reply so far passed and fails from its first
    failed reply on; with no fail but an undecided reply it is undecided. A
    dialogue that ends earlier is not counted at the turns it does not have, and
    turns at which the instruction does not hold are passed over.
    """
    cases: dict[tuple[str, ...], list[Sample]] = defaultdict(list)
    for sample in samples:
        if is_asked_to_adhere(sample):
            cases[(*sample.case, sample.arm, sample.history)].append(sample)
    for case in cases.values():
        so_far: Status = "pass"
        for sample in sorted(case, key=lambda s: s.turn):
            so_far = _worst(so_far, sample.status)
            yield Outcome(sample, so_far)


def _worst(*statuses: Status) -> Status:
    if "fail" in statuses:
        return "fail"
    return "undecided" if "undecided" in statuses else "pass"
