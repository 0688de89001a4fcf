"""What every metric returns, and how it becomes a rate.

Then the metrics of single replies: which replies count, and what counts as kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from eval.metrics.intervals import Codes, Floats, Ways, crossed_interval, num_groups
from eval.records.arms import WITHOUT_HISTORY
from eval.records.samples import Kind, Sample
from gatt.verifiers.base import Status

ALL = "all"
"""The value of `split` and `family` for totals."""

_VALUES: dict[Status, float] = {"pass": 1.0, "fail": 0.0, "undecided": float("nan")}


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


@dataclass(frozen=True, slots=True)
class OutcomeColumns:
    """Outcomes as columns, in order of turns: 10,000 dialogues are slow one by one."""

    turn: Codes
    split: npt.NDArray[np.object_]
    family: npt.NDArray[np.object_]
    value: Floats
    """1 for a pass, 0 for a fail; NaN for undecided."""
    ways: Ways
    num_named: int
    """Codes of instructions below this are instructions; the rest are plain dialogues."""

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> OutcomeColumns:
        """Return the columns of outcomes in any order."""
        found = sorted(outcomes, key=lambda o: o.turn)
        samples = [o.sample for o in found]
        # Dialogues that begin alike are one unit.
        dialogue, _ = _codes([s.cluster or s.dialogue for s in samples])
        is_plain = np.array([s.instruction is None for s in samples], dtype=bool)
        instruction, named = _codes([s.instruction.id if s.instruction else "" for s in samples])
        # Each plain dialogue is an instruction group of its own.
        instruction = np.where(is_plain, len(named) + dialogue, instruction)
        pairs = dialogue * (2 * len(samples) + 1) + instruction
        case = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
        return cls(
            turn=np.array([o.turn for o in found], dtype=np.int64),
            split=np.array([s.split for s in samples], dtype=object),
            family=np.array([s.family for s in samples], dtype=object),
            value=np.array([_VALUES[o.status] for o in found], dtype=np.float64),
            ways=Ways(dialogue, instruction, case),
            num_named=len(named),
        )

    def where(self, chosen: npt.NDArray[Any] | slice) -> OutcomeColumns:
        """Return the chosen rows (a mask, indices or a slice)."""
        columns = ("turn", "split", "family", "value")
        found: dict[str, Any] = {name: getattr(self, name)[chosen] for name in columns}
        return replace(self, ways=self.ways.where(chosen), **found)

    def slices(self) -> Iterator[tuple[str, str, OutcomeColumns]]:
        """Yield split, family and rows: the total, each split, each family, each of both."""
        families = dict.fromkeys(self.family.tolist())
        for split in (ALL, *dict.fromkeys(self.split.tolist())):
            in_split = self if split == ALL else self.where(self.split == split)
            for family in (ALL, *families):
                rows = in_split if family == ALL else in_split.where(in_split.family == family)
                if len(rows.turn):
                    yield split, family, rows

    def by_turn(self) -> Iterator[tuple[int, OutcomeColumns]]:
        """Yield each turn and its rows, in order."""
        turns, starts, sizes = np.unique(self.turn, return_index=True, return_counts=True)
        for turn, start, size in zip(turns, starts, sizes, strict=True):
            yield int(turn), self.where(slice(int(start), int(start + size)))


@dataclass(frozen=True, kw_only=True)
class Rate:
    """Passes over passes and fails, with its 95 % interval.

    `rate`, `low` and `high` are None where nothing was decided: not measured is
    not zero.
    """

    rate: float | None
    low: float | None
    high: float | None
    num_dialogues: int
    """Dialogues with at least one decided outcome: what the rate rests on. Those that begin alike are one."""
    num_instructions: int
    """The same of instructions, 0 for plain dialogues; from `MIN_INSTRUCTIONS` on the interval is one
    over instructions like these, below it speaks of these alone."""
    num_passed: int
    num_decided: int
    """Outcomes that passed, and those that passed or failed: the rate's two numbers."""
    num_undecided: int
    """Outcomes that no verifier could decide; they are not in the rate."""
    pessimistic: float
    optimistic: float
    """The rate over all outcomes if every undecided one had gone badly, or well."""


def rate_of(rows: OutcomeColumns, *, is_pass_good: bool = True) -> Rate:
    """Return the rate of at least one outcome with its interval, see `eval.metrics.intervals`.

    Where a pass is the error (`is_pass_good` false), the pessimistic rate counts undecided outcomes as
    passed.
    """
    decided = rows.where(~np.isnan(rows.value))
    num, num_decided = len(rows.value), len(decided.value)
    num_passed, undecided = int(decided.value.sum()), num - num_decided
    rate = low = high = None
    if num_decided:
        rate = num_passed / num_decided
        low, high = crossed_interval(decided.value, decided.ways)
    if_failed, if_passed = num_passed / num, (num_passed + undecided) / num
    instructions = decided.ways.instruction
    return Rate(
        rate=rate,
        low=low,
        high=high,
        num_dialogues=num_groups(decided.ways.dialogue),
        num_instructions=num_groups(instructions[instructions < rows.num_named]),
        num_passed=num_passed,
        num_decided=num_decided,
        num_undecided=undecided,
        pessimistic=if_failed if is_pass_good else if_passed,
        optimistic=if_passed if is_pass_good else if_failed,
    )


def _codes(names: Sequence[str]) -> tuple[Codes, tuple[str, ...]]:
    """Return a number for each name, and the names by number."""
    known: dict[str, int] = {}
    codes = [known.setdefault(name, len(known)) for name in names]
    return np.array(codes, dtype=np.int64), tuple(known)


_BADNESS: Final[tuple[Status, ...]] = ("pass", "undecided", "fail")


def keeps(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the status of every ordinary reply under an instruction that holds.

    After a cancellation a reply without the instruction is right; `leakage` counts replies that follow it.
    """
    return (Outcome(s, s.status) for s in samples if _is_asked_to_adhere(s))


def answers(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield whether a reply under an instruction answers its turn, where the turn expects something.

    Questions about something that the user told at an earlier turn count in `told` only. They need the history,
    so the arm `alone` cannot answer them. They come late, so a curve with them would fall by itself.
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


def keeps_since_switch(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield `keeps` by turns since the last change of any kind; 0 is the reply to its announcement."""
    return (
        Outcome(s, s.status, s.since_switch)
        for s in samples
        if s.since_switch is not None and _is_asked_to_adhere(s)
    )


def leakage(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield whether ordinary replies still follow an instruction that was replaced or taken back.

    A pass is the error. Turns count from the last change that ended an instruction. The outcome is counted
    for the ended instruction, its family and split. Which rules count is in
    `gatt.data.catalog.switch_leakage`.
    """
    return _leaks(samples, "turn")


def probe_leakage(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield whether answers to a probe still follow an instruction that was cancelled.

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
