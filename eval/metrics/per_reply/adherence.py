"""Adherence: does the reply of an ordinary turn follow the instruction, strictly or leniently."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from eval.metrics.outcomes import Outcome
from eval.records.samples import Sample


def is_asked_to_adhere(sample: Sample) -> bool:
    """Whether a sample is an ordinary turn at which its instruction holds.

    After a user has released the model from the instruction, a reply without it is right: events
    count that, adherence does not.
    """
    is_turn = sample.kind == "turn" and sample.instruction is not None
    return is_turn and sample.expected == "kept"


def adherence(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the status of every ordinary reply under an instruction that holds."""
    return (Outcome(s, s.status) for s in samples if is_asked_to_adhere(s))


def adherence_loose(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the same with the leniency of IFEval: a first or last line, or asterisks, do not count.

    Source: Zhou et al., arXiv:2311.07911, section 3 (loose accuracy). Where only the strict status is
    known, it stands for both.
    """
    return (Outcome(s, s.loose or s.status) for s in samples if is_asked_to_adhere(s))
