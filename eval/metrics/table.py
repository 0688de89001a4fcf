"""Every metric: which replies it counts, what readers call it, which way is good, and its axis.

A new metric is a function, one entry in `METRICS`, and one test.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from eval.records.arms import WITHOUT_HISTORY
from eval.records.samples import Kind, Sample
from gatt.verifiers.base import Status


@dataclass(frozen=True, slots=True)
class Outcome:
    """One thing counted at one turn: a reply, or a case that is still perfect."""

    sample: Sample
    """Its dialogue, instruction, split, family and turn."""
    status: Status
    at: int | None = None
    """The turn, where a metric counts turns in another way."""

    @property
    def turn(self) -> int:
        """Where it stands on the axis of its metric."""
        return self.sample.turn if self.at is None else self.at


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One metric, with all that a report needs to show it."""

    count: Callable[[Iterable[Sample]], Iterable[Outcome]]
    """From the samples of one arm and history to what is counted, in any order."""
    name: str
    """What readers call it."""
    note: str
    """What passes."""
    deed: str = ""
    """What a passing reply does, in the headline; empty for a metric that is never in it."""
    is_pass_good: bool = True
    """False where a pass is the error; then the pessimistic rate is the higher one."""
    is_since_switch: bool = False
    """Whether its turns count from the change of the instruction on, from 0."""
    is_plain: bool = False
    """Whether it counts replies of plain dialogues alone."""
    is_lenient: bool = False
    """Whether it is a lenient reading of another metric, beside which it stands."""
    is_cumulative: bool = False
    """Whether each turn counts the turns before it too; then no rate is over all turns together."""
    is_by_ability: bool = False
    """Whether it is counted too for the instructions that the model keeps alone, and for the others."""
    has_own_replies: bool = False
    """Whether it is counted for the dialogue's own replies too, which were written without the instruction."""
    is_drawn: bool = False
    """Whether the page draws it; all are in the tables."""


_BADNESS: Final[tuple[Status, ...]] = ("pass", "undecided", "fail")


def keeps(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the status of every ordinary reply under an instruction that holds.

    After a release a reply without the instruction is right: `leakage` counts those with it.
    """
    return (Outcome(s, s.status) for s in samples if _is_asked_to_adhere(s))


def answers(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield whether a reply under an instruction answers its turn, where the turn expects something.

    Questions for what the user told at an earlier turn count in `told` alone: they need the history, so
    nobody can be asked them alone, and they come late, so a curve with them would fall by itself.
    """
    return (Outcome(s, s.answers) for s in _expecting(samples) if s.answers and s.asks != "told")


def joint(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield whether a reply keeps its instruction and answers its turn, for the replies of `answers`."""
    return (Outcome(s, s.joint) for s in _expecting(samples) if s.joint and s.asks != "told")


def told(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield whether a reply keeps its instruction and says what the user told at an earlier turn."""
    return (Outcome(s, s.joint) for s in _expecting(samples) if s.joint and s.asks == "told")


def answers_plain(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield whether a reply of a plain dialogue answers its turn, where the turn expects something."""
    return (Outcome(s, s.answers) for s in samples if s.answers and s.instruction is None)


def keeps_loose(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the same with the leniency of IFEval: a first or last line, or asterisks, do not count.

    Source: Zhou et al., arXiv:2311.07911, section 3 (loose accuracy). Where only the strict status is
    known, it stands for both.
    """
    return (Outcome(s, s.loose or s.status) for s in samples if _is_asked_to_adhere(s))


def survival(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield for each case and asked turn the worst status so far: fail, then undecided, then pass."""
    for case in by_case(s for s in samples if _is_asked_to_adhere(s) and _has_history(s)):
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
    """Yield whether a judge finds that an ordinary reply does what was asked; plain dialogues count too."""
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
    counted = (s for s in samples if s.kind == "turn" and s.reply.strip() and _has_history(s))
    for case in by_case(counted):
        said_before: set[str] = set()
        for index, sample in enumerate(case):
            said = folded(sample.reply)
            is_known = sample.is_repeated is not None
            is_repeated = sample.is_repeated if is_known else said in said_before
            if sample.turn > 1 if is_known else index:
                yield Outcome(sample, "pass" if is_repeated else "fail")
            said_before.add(said)


def false_trigger(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the status of every reply of a plain dialogue.

    A pass is the error: the reply follows an instruction that was not given.
    """
    return (Outcome(s, s.status) for s in samples if s.instruction is None)


def keeps_since_switch(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield `keeps` by turns since the last change of any kind; 0 is the reply to its announcement."""
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


def _expecting(samples: Iterable[Sample]) -> Iterator[Sample]:
    return (s for s in samples if s.answer is not None and _is_asked_to_adhere(s))


def _has_history(sample: Sample) -> bool:
    """Whether the arm reads a history: the replies of others do not follow on one another."""
    return sample.arm not in WITHOUT_HISTORY


def _leaks(samples: Iterable[Sample], kind: Kind) -> Iterator[Outcome]:
    for sample in samples:
        if sample.kind == kind and sample.leak is not None and sample.ended is not None:
            old, (_, first, _) = sample.ended, sample.case
            under = replace(
                sample, instruction=old, family=old.family, split=old.split, given=first
            )
            yield Outcome(under, sample.leak, sample.since_end)


METRICS: Final[Mapping[str, Metric]] = {
    "joint": Metric(
        count=joint,
        name="Keeps and answers",
        note="replies that keep the instruction and answer their turn",
        deed="keeps its instruction and answers",
        is_by_ability=True,
        is_drawn=True,
    ),
    "keeps": Metric(
        count=keeps,
        name="Keeps the instruction",
        note="replies that keep the instruction",
        deed="keeps its instruction",
        is_by_ability=True,
        has_own_replies=True,
        is_drawn=True,
    ),
    "answers": Metric(
        count=answers,
        name="Answers",
        note="replies that hold what their turn expects, and are no copy, repetition or loop",
        is_by_ability=True,
        is_drawn=True,
    ),
    "told": Metric(
        count=told,
        name="Remembers what it was told",
        note="replies that keep the instruction and say a fact that the user told at an earlier turn",
        is_drawn=True,
    ),
    "survival": Metric(
        count=survival,
        name="Survival",
        note="dialogues in which every reply asked so far kept the instruction",
        is_cumulative=True,
    ),
    "probe_recall": Metric(
        count=probe_recall,
        name="Probe recall",
        note="questions outside the history that are answered as the instruction says",
        is_drawn=True,
    ),
    "task_completion": Metric(
        count=task_completion,
        name="Task completion, by the judge",
        note="replies that do what the user asked, as a judge finds",
    ),
    "repetition": Metric(
        count=repetition,
        name="Repetition",
        note="replies given before in the same dialogue, word for word; lower is better",
        is_pass_good=False,
    ),
    "false_trigger": Metric(
        count=false_trigger,
        name="False triggers",
        note="replies that follow an instruction that was not given; lower is better",
        is_pass_good=False,
        is_plain=True,
        has_own_replies=True,
    ),
    "answers_plain": Metric(
        count=answers_plain,
        name="Answers without an instruction",
        note="replies that hold what their turn expects, where no instruction was given",
        is_plain=True,
    ),
    "keeps_loose": Metric(
        count=keeps_loose,
        name="Keeps the instruction, lenient reading",
        note="the same replies without a first or last line, or asterisks, that would fail them",
        is_lenient=True,
    ),
    "keeps_since_switch": Metric(
        count=keeps_since_switch,
        name="Keeps the instruction since the change",
        note="replies that keep the instruction in force, by turns since it changed",
        is_since_switch=True,
        is_drawn=True,
    ),
    "leakage": Metric(
        count=leakage,
        name="Leakage of the old instruction",
        note="replies that still satisfy the old instruction's rules, some by chance; lower is better",
        is_pass_good=False,
        is_since_switch=True,
        has_own_replies=True,
        is_drawn=True,
    ),
    "probe_leakage": Metric(
        count=probe_leakage,
        name="Leakage of the old instruction, when asked",
        note="answers to a probe that still follow a cancelled instruction; lower is better",
        is_pass_good=False,
        is_since_switch=True,
        is_drawn=True,
    ),
}
"""By the names in `results.json`, in the order in which a report shows them."""
VACUOUS: Final[Mapping[str, str]] = {
    name: f"vacuous_{name}" for name, metric in METRICS.items() if metric.has_own_replies
}
"""Metric -> the same of the dialogue's own replies."""


def metric_of(name: str) -> Metric | None:
    """Return the metric of a name, also of one of `VACUOUS`; None for one of another version."""
    return METRICS.get(name.removeprefix("vacuous_"))


def is_pass_good(name: str) -> bool:
    """Whether a pass of a metric is good; True for an unknown metric."""
    metric = metric_of(name)
    return metric is None or metric.is_pass_good


def is_plain(name: str) -> bool:
    """Whether a metric counts replies of plain dialogues alone; False for an unknown metric."""
    metric = metric_of(name)
    return metric is not None and metric.is_plain


def is_lenient(name: str) -> bool:
    """Whether a metric is a lenient reading of another; False for an unknown metric."""
    metric = metric_of(name)
    return metric is not None and metric.is_lenient


def is_since_switch(name: str) -> bool:
    """Whether the turns of a metric count from the change of the instruction on."""
    metric = metric_of(name)
    return metric is not None and metric.is_since_switch
