"""What a run cannot measure, counted before the first reply is sampled.

A reply that only a judge can decide stays undecided in a run without a judge: sampling it
takes hours and measures nothing. So does a reply under several rules of which some need the
judge: it can fail and never pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from eval.cases.asked_turns import asked_turns
from eval.cases.false_triggers import Triggers
from eval.config import EvalConfig
from eval.records.case import Case
from eval.records.samples import Kind
from eval.scoring.completion import NO_ENCODER, open_reason
from eval.scoring.judge.config import Task
from gatt.errors import ConfigError
from gatt.verifiers.graded.judge import JUDGE
from gatt.verifiers.graded.score import SCORE
from gatt.verifiers.topics.sentence_encoder import has_embedded_encoder

NO_JUDGE: Final = (
    "only a judge can decide, and none is configured (judge.engine.model, or judge.engine.server)"
)
NOT_ASKED: Final = (
    "only a judge can decide, and it is not asked (judge.tasks, kinds, turns and arms)"
)
NO_SCORES: Final = "a function grades them, and no score_file names it"
NO_POOL: Final = "ordinary replies satisfy every instruction"
TURNS: Final = "replies to turns"
PROBES: Final = "answers to probes"
COMPLETION: Final = "replies, for task completion"


@dataclass(frozen=True, slots=True)
class Gap:
    """Replies of one sort that stay undecided whatever they say."""

    what: str
    num: int
    total: int
    reasons: tuple[str, ...]
    """The most frequent first."""

    def __str__(self) -> str:
        """Return the gap as a note says it."""
        return f"{self.num:,} of {self.total:,} {self.what}: {'; '.join(self.reasons)}"


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """Everything that a run leaves undecided."""

    gaps: tuple[Gap, ...]
    is_all: bool
    """Whether nothing about instructions can be measured; in a run without instructions: nothing at all."""

    @property
    def _main(self) -> tuple[Gap, ...]:
        return tuple(gap for gap in self.gaps if gap.what in (TURNS, PROBES))

    @property
    def asked(self) -> str:
        """The gaps of turns and probes, or of task completion if there are no others."""
        return "; ".join(map(str, self._main or self.gaps)) or "no reply is judged"

    @property
    def line(self) -> str:
        """All gaps in one line, empty without any."""
        return _line(self.gaps)

    @property
    def note(self) -> str:
        """The gaps of turns and probes in one line, for the report."""
        return _line(self._main)


def _line(gaps: Sequence[Gap]) -> str:
    return f"Not measured: {'. '.join(map(str, gaps))}." if gaps else ""


def find_unmeasured(
    config: EvalConfig, cases: Sequence[Case], triggers: Triggers | None
) -> Unmeasured:
    """Return what a run leaves undecided, whatever the replies.

    Args:
        config: of the evaluation.
        cases: its cases.
        triggers: what counts as a false trigger, None in a run without plain dialogues.
    """
    # Replies by the reason why they stay undecided, "" for those that can be decided.
    counts = {what: Counter[str]() for what in (TURNS, PROBES, COMPLETION)}
    for case in cases:
        for turn, kind in asked_turns(case, config):
            for what, reason, num_decided in _reasons(config, case, turn, kind, triggers):
                num = len(config.arms) * len(config.histories)
                counts[what][reason] += num - num_decided
                counts[what][""] += num_decided
    has_instructions = any(case.instruction for case in cases)
    gaps = []
    for what, found in counts.items():
        reasons = tuple(r for r, num in found.most_common() if r and num)
        if reasons:
            gaps.append(Gap(what, found.total() - found[""], found.total(), reasons))
    is_all = not any(found[""] for what, found in counts.items() if what != COMPLETION)
    return Unmeasured(tuple(gaps), is_all and (has_instructions or not counts[COMPLETION][""]))


def refuse_unmeasured(
    config: EvalConfig, cases: Sequence[Case], triggers: Triggers | None
) -> Unmeasured:
    """Return `find_unmeasured`, if something is measured or `config.unmeasured` says to go on.

    Raises:
        ConfigError: nothing would be measured.
    """
    found = find_unmeasured(config, cases, triggers)
    if found.is_all and not config.unmeasured:
        raise ConfigError(
            f"nothing would be measured: {found.asked}: give what is missing, or unmeasured: true to sample "
            "the replies all the same"
        )
    return found


def _reasons(
    config: EvalConfig, case: Case, turn: int, kind: Kind, triggers: Triggers | None
) -> Iterator[tuple[str, str, int]]:
    """Yield what is measured of the replies to a turn, the reason why not, and how many are all the same."""
    instruction, probe = case.instruction_at(turn, kind), case.probe_at(turn)
    specs = instruction.verifiers if instruction else ()
    if kind == "probe" and probe:
        specs = probe.verifiers
    kinds = {spec.kind for spec in specs}
    what = TURNS if kind == "turn" else PROBES
    if instruction is None:
        yield what, "" if triggers and triggers.entries else NO_POOL, 0
    elif SCORE in kinds and config.score_file is None:
        yield what, NO_SCORES, 0
    elif kinds and JUDGE not in kinds:
        yield what, "", 0
    else:
        reason = NOT_ASKED if config.judge else NO_JUDGE
        yield what, reason, _num_judged(config, "adherence", kind, turn)
    num_judged = _num_judged(config, "completion", "turn", turn)
    if kind == "turn" and config.task_completion:
        open_for: str | None = NO_ENCODER
        if has_embedded_encoder():
            held = instruction if case.expected(turn) == "kept" else None
            open_for = open_reason(case.user_turn(turn), case.reference(turn), held)
        yield COMPLETION, open_for or "", num_judged
    elif kind == "turn" and num_judged:
        yield COMPLETION, "", 0


def _num_judged(config: EvalConfig, task: Task, kind: Kind, turn: int) -> int:
    """Return how many replies to a turn the judge is asked about."""
    judge = config.judge
    if judge is None or task not in judge.tasks or kind not in judge.kinds:
        return 0
    if judge.turns and turn not in judge.turns:
        return 0
    return len(judge.arms or config.arms) * len(config.histories)
