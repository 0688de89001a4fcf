"""Adherence with the leniency of IFEval: a first or last line, or asterisks, do not count.

Source: Zhou et al., arXiv:2311.07911, section 3 (loose accuracy).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from eval.metrics.outcomes import Outcome
from eval.metrics.per_reply.adherence import is_asked_to_adhere
from eval.records.samples import Sample


def adherence_loose(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the lenient status of every reply that `adherence` counts.

    Where only the strict status is known, it stands for both.
    """
    return (Outcome(s, s.loose or s.status) for s in samples if is_asked_to_adhere(s))
