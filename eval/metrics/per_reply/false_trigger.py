"""False triggers: does a reply follow an instruction that was not given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from eval.metrics.outcomes import Outcome
from eval.records.samples import Sample


def false_trigger(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the status of every reply of a plain dialogue.

    Here a pass is the error: the reply satisfies the verifiers of an
    instruction that was not given.
    """
    return (Outcome(s, s.status) for s in samples if s.instruction is None)
