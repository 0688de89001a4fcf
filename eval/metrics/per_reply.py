"""Metrics of single replies: which replies count, and what counts as kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from eval.metrics.outcomes import Outcome
from eval.records.samples import Kind, Sample
from gatt.verifiers.base import Status
from gatt.verifiers.graded.score import SCORE

_BADNESS: Final[tuple[Status, ...]] = ("pass", "undecided", "fail")


def adherence(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the status of every ordinary reply under an instruction that holds.

    After a release a reply without the instruction is right: `eval.metrics.curves` counts that.
    """
    return (Outcome(s, s.status) for s in samples if _is_asked_to_adhere(s))


def adherence_loose(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the same with the leniency of IFEval: a first or last line, or asterisks, do not count.

    Source: Zhou et al., arXiv:2311.07911, section 3 (loose accuracy). Where only the strict status is
    known, it stands for both.
    """
    return (Outcome(s, s.loose or s.status) for s in samples if _is_asked_to_adhere(s))


def survival(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield for each case and asked turn the worst status so far: fail, then undecided, then pass."""
    for case in by_case(filter(_is_asked_to_adhere, samples)):
        so_far: Status = "pass"
        for sample in case:
            so_far = max(so_far, sample.status, key=_BADNESS.index)
            yield Outcome(sample, so_far)


def probe_recall(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the status of every answer to a probe while its instruction holds.

    Source: Llama 2, arXiv:2307.09288, table 30: the probe is asked outside the history.
    """
    return (Outcome(s, s.status) for s in samples if s.kind == "probe" and s.expected == "kept")


def task_completion(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield whether each ordinary reply answers, where that was measured; plain dialogues count too."""
    return (
        Outcome(s, s.completion.status)
        for s in samples
        if s.kind == "turn" and s.completion is not None
    )


def folded(reply: str) -> str:
    """Return a reply but for case and white space."""
    return " ".join(reply.casefold().split())


def repetition(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the judged ordinary replies that have earlier ones, and whether they equal one of these.

    A pass is the error. With own history all earlier turns count (`Sample.is_repeated`). Other replies
    are compared with earlier judged turns alone, so their rate is a lower bound. Empty replies are not
    counted.
    """
    for case in by_case(s for s in samples if s.kind == "turn" and s.reply.strip()):
        known: set[str] = set()
        for index, sample in enumerate(case):
            said = folded(sample.reply)
            is_known = sample.is_repeated is not None
            is_repeated = sample.is_repeated if is_known else said in known
            if sample.turn > 1 if is_known else index:
                yield Outcome(sample, "pass" if is_repeated else "fail")
            known.add(said)


def false_trigger(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the status of every reply of a plain dialogue.

    A pass is the error: the reply follows an instruction that was not given.
    """
    return (Outcome(s, s.status) for s in samples if s.instruction is None)


def score(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the score of every ordinary reply that is graded, while its instruction holds."""
    return _graded(samples, "turn")


def probe_score(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the score of every answer to a probe that is graded, while its instruction holds.

    Source: Li et al. 2024, arXiv:2402.10962. A reply without a score is undecided, never a zero.
    """
    return _graded(samples, "probe")


def adherence_since_switch(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield adherence by turns since the last change of any kind; 0 is the reply to its announcement."""
    return (
        Outcome(s, s.status, s.since_switch)
        for s in samples
        if s.since_switch is not None and _is_asked_to_adhere(s)
    )


def leakage(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield whether ordinary replies still follow an instruction that was replaced or taken back.

    A pass is the error. Turns count from the last change that ended something. The outcome stands
    under the instruction that has ended, its family and split. Which rules count is in
    `gatt.data.catalog.switch_leakage`.
    """
    return _leaks(samples, "turn")


def probe_leakage(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield whether answers to a probe still give what the instruction said that was taken back.

    A pass is the error. After a replacement the probe asks for the new instruction: nothing is counted.
    """
    return _leaks(samples, "probe")


def by_case(samples: Iterable[Sample]) -> Iterator[list[Sample]]:
    """Yield the samples of each case, arm and history, in order of turns."""
    cases: dict[tuple[str, ...], list[Sample]] = defaultdict(list)
    for sample in samples:
        cases[(*sample.case, sample.arm, sample.history)].append(sample)
    return (sorted(case, key=lambda s: s.turn) for case in cases.values())


def _is_asked_to_adhere(sample: Sample) -> bool:
    is_turn = sample.kind == "turn" and sample.instruction is not None
    return is_turn and sample.expected == "kept"


def _graded(samples: Iterable[Sample], kind: Kind) -> Iterator[Outcome]:
    for sample in samples:
        if sample.kind == kind and sample.expected == "kept":
            if sample.score is not None:
                statuses = {v.status for v in sample.verdicts if v.verifier == SCORE}
                yield Outcome(sample, "fail" if "fail" in statuses else "pass", value=sample.score)
            elif any(spec.kind == SCORE for spec in sample.asked):
                yield Outcome(sample, "undecided")


def _leaks(samples: Iterable[Sample], kind: Kind) -> Iterator[Outcome]:
    for sample in samples:
        if sample.kind == kind and sample.leak is not None and sample.ended is not None:
            old, (_, first, _) = sample.ended, sample.case
            under = replace(
                sample, instruction=old, family=old.family, split=old.split, given=first
            )
            yield Outcome(under, sample.leak, sample.since_end)
