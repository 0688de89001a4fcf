"""Adherence: does the reply of an ordinary turn follow the instruction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from eval.metrics.outcomes import Outcome
from eval.records.samples import Sample


def is_asked_to_adhere(sample: Sample) -> bool:
    """Whether a sample is an ordinary turn at which its instruction holds.

    After a user has released the model from the instruction, a reply that
    leaves it alone is right: that is told by events, not by adherence.
    """
    is_turn = sample.kind == "turn" and sample.instruction is not None
    return is_turn and sample.expected == "kept"


def adherence(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the status of every ordinary reply under an instruction that holds."""
    return (Outcome(s, s.status) for s in samples if is_asked_to_adhere(s))
