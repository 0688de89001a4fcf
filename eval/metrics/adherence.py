"""Adherence: does the reply of an ordinary turn follow the instruction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from eval.metrics.outcomes import Outcome, Outcomes
from eval.samples import Sample


def adherence(samples: Iterable[Sample]) -> Outcomes:
    """Return the status of every ordinary reply under an instruction, by turn."""
    found: dict[int, list[Outcome]] = defaultdict(list)
    for sample in samples:
        if sample.kind == "turn" and sample.instruction is not None:
            found[sample.turn].append(Outcome(sample.dialogue, sample.status))
    return found
