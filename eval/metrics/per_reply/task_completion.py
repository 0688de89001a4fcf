"""Task completion: does the reply still answer what was asked, whatever the instruction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from eval.metrics.outcomes import Outcome
from eval.records.samples import Sample


def task_completion(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield whether each ordinary reply answers, where that was measured.

    Plain dialogues count too: ordinary answers must stay intact.
    """
    return (
        Outcome(s, s.completion.status)
        for s in samples
        if s.kind == "turn" and s.completion is not None
    )
