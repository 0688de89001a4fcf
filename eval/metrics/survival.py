"""Survival: has the instruction been followed at every turn asked so far."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from eval.metrics.outcomes import Outcome, Outcomes
from eval.samples import Sample
from gatt.verifiers.base import Status


def survival(samples: Iterable[Sample]) -> Outcomes:
    """Return by turn which cases are still perfect since the first asked turn.

    A case is a dialogue under one instruction, within one arm and history. At
    an asked turn it passes if every reply so far passed and fails from its first
    failed reply on; with no fail but an undecided reply it is undecided. A
    dialogue that ends earlier is not counted at the turns it does not have.
    """
    cases: dict[tuple[str, ...], dict[int, list[Status]]] = defaultdict(lambda: defaultdict(list))
    for sample in samples:
        if sample.kind == "turn" and sample.instruction is not None:
            key = (*sample.case, sample.arm, sample.history)
            cases[key][sample.turn].append(sample.status)
    found: dict[int, list[Outcome]] = defaultdict(list)
    for (dialogue, *_), by_turn in cases.items():
        so_far: Status = "pass"
        for turn in sorted(by_turn):
            so_far = _worst(so_far, *by_turn[turn])
            found[turn].append(Outcome(dialogue, so_far))
    return found


def _worst(*statuses: Status) -> Status:
    if "fail" in statuses:
        return "fail"
    return "undecided" if "undecided" in statuses else "pass"
