"""Repetition: does the model say again, word for word, what it has said before at other turns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from eval.metrics.outcomes import Outcome
from eval.records.samples import Sample


def folded(reply: str) -> str:
    """Return a reply but for case and white space."""
    return " ".join(reply.casefold().split())


def repetition(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the judged ordinary replies that have earlier ones, and whether they equal one of these.

    Here a pass is the error. A model that copies its own replies keeps what these kept: where this is
    high, adherence in the model's own history says little. A sample of its own history knows of all
    its turns (`Sample.is_repeated`). Others are compared with earlier judged turns alone, so that the
    rate is a lower bound. Empty replies are not counted.
    """
    cases: dict[tuple[str, ...], list[Sample]] = defaultdict(list)
    for sample in samples:
        if sample.kind == "turn" and sample.reply.strip():
            cases[(*sample.case, sample.arm, sample.history)].append(sample)
    for case in cases.values():
        known: set[str] = set()
        for index, sample in enumerate(sorted(case, key=lambda s: s.turn)):
            said = folded(sample.reply)
            is_known = sample.is_repeated is not None
            is_repeated = sample.is_repeated if is_known else said in known
            if sample.turn > 1 if is_known else index:
                yield Outcome(sample, "pass" if is_repeated else "fail")
            known.add(said)
