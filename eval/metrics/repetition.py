"""Repetition: does the model say again, word for word, what it has said in this dialogue before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from eval.metrics.outcomes import Outcome
from eval.samples import Sample


def folded(reply: str) -> str:
    """Return a reply but for case and white space."""
    return " ".join(reply.casefold().split())


def repetition(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the judged ordinary replies behind the first that the arm has given before in the dialogue.

    Here a pass is the error. A model that copies its first reply keeps whatever that
    reply kept; where this is high, adherence in the model's own history tells little.
    A sample of its own history knows of all its turns (`Sample.is_repeated`). Others are
    held against those of earlier judged turns alone, so that the rate is a lower bound.
    Replies that never came are passed over.
    """
    cases: dict[tuple[str, ...], list[Sample]] = defaultdict(list)
    for sample in samples:
        if sample.kind == "turn" and sample.reply.strip():
            cases[(*sample.case, sample.arm, sample.history)].append(sample)
    for case in cases.values():
        known: set[str] = set()
        for index, sample in enumerate(sorted(case, key=lambda s: s.turn)):
            said = folded(sample.reply)
            is_repeated = said in known if sample.is_repeated is None else sample.is_repeated
            if index:
                yield Outcome(sample, "pass" if is_repeated else "fail")
            known.add(said)
