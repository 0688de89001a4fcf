"""Repetition: does the model say again, word for word, what it has said in this dialogue before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from eval.metrics.outcomes import Outcome
from eval.samples import Sample


def repetition(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the ordinary replies from the second asked turn on that are there already.

    Here a pass is the error: the reply equals one at an earlier asked turn of the
    same dialogue, arm and history, but for case and white space. A model that copies
    its first reply keeps whatever that reply kept; where this is high, adherence in
    the model's own history tells little. Turns that nobody judged are not looked at,
    so that the rate is a lower bound. Replies that never came are passed over.
    """
    cases: dict[tuple[str, ...], list[Sample]] = defaultdict(list)
    for sample in samples:
        if sample.kind == "turn" and sample.reply.strip():
            cases[(*sample.case, sample.arm, sample.history)].append(sample)
    for case in cases.values():
        known: set[str] = set()
        for index, sample in enumerate(sorted(case, key=lambda s: s.turn)):
            said = " ".join(sample.reply.casefold().split())
            if index:
                yield Outcome(sample, "pass" if said in known else "fail")
            known.add(said)
