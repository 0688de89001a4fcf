"""Scores: what the user's own functions say of replies, from 0 to 1, on average.

Persona drift (Li et al. 2024, arXiv:2402.10962) is measured so: a probe, and a
function of its answer. A reply without a score is undecided, never a zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from eval.metrics.outcomes import Outcome
from eval.records.samples import Kind, Sample
from gatt.verifiers.graded.score import SCORE


def score(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the score of every ordinary reply that is graded, while its instruction holds."""
    return _graded(samples, "turn")


def probe_score(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the score of every answer to a probe that is graded, while its instruction holds."""
    return _graded(samples, "probe")


def _graded(samples: Iterable[Sample], kind: Kind) -> Iterator[Outcome]:
    for sample in samples:
        if sample.kind == kind and sample.expected == "kept":
            if sample.score is not None:
                statuses = {v.status for v in sample.verdicts if v.verifier == SCORE}
                yield Outcome(sample, "fail" if "fail" in statuses else "pass", value=sample.score)
            elif any(spec.kind == SCORE for spec in sample.asked):
                yield Outcome(sample, "undecided")
