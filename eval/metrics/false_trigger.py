"""False triggers: does a reply follow an instruction that nobody gave."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from eval.metrics.outcomes import Outcome, Outcomes
from eval.samples import Sample


def false_trigger(samples: Iterable[Sample]) -> Outcomes:
    """Return the status of every reply of a plain dialogue, by turn.

    Here a pass is the error: the reply satisfies the verifiers of an
    instruction that was not given.
    """
    found: dict[int, list[Outcome]] = defaultdict(list)
    for sample in samples:
        if sample.instruction is None:
            found[sample.turn].append(Outcome(sample.dialogue, sample.status))
    return found
