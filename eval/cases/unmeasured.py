"""What a run can measure, found before the first reply is sampled.

False triggers: nearly every reply follows "use no digits", so such a reply shows nothing. An entry of
the catalogue counts only if no reply of `ORDINARY` satisfies its verifiers, and at most `MOST_SHARE` of
the dialogues' own replies, which were written without an instruction. The own replies at the judged
turns of plain dialogues are not used for this choice: their rate is reported beside that of the arms.

Judge: a reply that only a judge can decide stays undecided in a run without one: sampling it takes hours
and measures nothing. So does a reply under several rules of which some need the judge.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from eval.cases.asked_turns import asked_turns, judged_turns
from eval.cases.build import Inputs
from eval.config import EvalConfig
from eval.records.case import Case
from eval.records.samples import Kind
from eval.scoring.judge.config import JudgeTask
from gatt.data.catalog.ordinary_replies import ORDINARY, is_ordinary
from gatt.data.catalog.read import Catalog
from gatt.data.instruction import Entry
from gatt.errors import ConfigError
from gatt.verifiers import check_all, overall
from gatt.verifiers.judge import JUDGE

MOST_SHARE = 0.01
"""Largest share of own replies that may satisfy an entry: people do mention hiking sometimes."""
MOST_REPLIES = 200
"""Most own replies that are checked, each against the whole catalogue."""


@dataclass(frozen=True)
class Triggers:
    """The entries that count for false triggers."""

    entries: tuple[Entry, ...]
    left_out: tuple[str, ...]
    """Ids of the entries that ordinary replies satisfy."""
    num_ordinary: int
    """Ordinary replies that were checked, those of `ORDINARY` included."""

    def as_dict(self) -> dict[str, Any]:
        """Return the description in `results.json`."""
        return {
            "num_entries": len(self.entries),
            "num_left_out": len(self.left_out),
            "left_out": list(self.left_out),
            "num_ordinary_replies": self.num_ordinary,
        }


def triggers_of(config: EvalConfig, catalog: Catalog, inputs: Inputs) -> Triggers | None:
    """Return what counts as a false trigger, None in a run without plain dialogues.

    These are the entries that ordinary replies, and own replies of dialogues, do not satisfy.
    """
    if all(case.instruction is not None for case in inputs.cases):
        return None
    replies = _own_replies(inputs, config)
    pool = config.instructions.select(catalog, ())
    left_out = tuple(e.id for e in pool if _is_ordinary(e, replies))
    entries = tuple(e for e in pool if e.id not in left_out)
    return Triggers(entries, left_out, len(ORDINARY) + len(replies))


def _is_ordinary(entry: Entry, replies: Sequence[str]) -> bool:
    # Asking a judge for each reply and entry would cost too much.
    if any(v.kind == JUDGE for v in entry.verifiers) or is_ordinary(entry.verifiers):
        return True
    statuses = [overall(check_all(entry.verifiers, reply)) for reply in replies]
    return statuses.count("pass") > MOST_SHARE * len(replies)


def _own_replies(inputs: Inputs, config: EvalConfig) -> list[str]:
    """Return up to `MOST_REPLIES` own replies, each once, none judged as one of a plain case."""
    plain = {
        case.dialogue.id: judged_turns(case, config)
        for case in inputs.cases
        if case.instruction is None
    }
    replies = [
        reply
        for dialogue in inputs.dialogues
        for turn, reply in enumerate(dialogue.replies, start=1)
        if turn not in plain.get(dialogue.id, ())
    ]
    unique = list(dict.fromkeys(replies))
    random.Random("ordinary replies").shuffle(unique)
    return unique[:MOST_REPLIES]


NO_JUDGE: Final = (
    "only a judge can decide, and none is configured (judge.engine.model, or judge.engine.server)"
)
NOT_ASKED: Final = (
    "only a judge can decide, and it is not asked (judge.tasks, kinds, turns and arms)"
)
NO_POOL: Final = "ordinary replies satisfy every instruction"
TURNS: Final = "replies to turns"
PROBES: Final = "answers to probes"


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """Everything that a run leaves undecided."""

    gaps: Mapping[str, str]
    """Which replies, and the note: how many of them stay undecided whatever they say, and why."""
    is_all: bool
    """Whether nothing can be measured: neither an instruction, nor an answer that is expected."""

    @property
    def asked(self) -> str:
        """The gaps, or that nothing is judged."""
        return "; ".join(self.gaps.values()) or "no reply is judged"

    def line(self) -> str:
        """Return the gaps in one line; empty without any."""
        return f"Not measured: {'. '.join(self.gaps.values())}." if self.gaps else ""


def find_unmeasured(
    config: EvalConfig, cases: Sequence[Case], triggers: Triggers | None
) -> Unmeasured:
    """Return what a run leaves undecided, whatever the replies; without plain dialogues `triggers` is None."""
    # Replies by the reason why they stay undecided, "" for those that can be decided.
    counts = {what: Counter[str]() for what in (TURNS, PROBES)}
    has_instructions = any(case.instruction for case in cases)
    has_answers = False
    for arm, history, case in product(config.arms, config.histories, cases):
        for turn, kind in asked_turns(case, config, arm, history):
            what, reason = _reason(config, case, arm, turn, kind, triggers)
            counts[what][reason] += 1
            has_answers |= kind == "turn" and (
                case.expectation(turn) is not None
                # A judge's view of an answer is no view of the instruction.
                or (not has_instructions and _is_judged(config, "completion", arm, kind, turn))
            )
    gaps = {}
    for what, by_reason in counts.items():
        reasons = tuple(r for r, num in by_reason.most_common() if r and num)
        if reasons:
            num, total = by_reason.total() - by_reason[""], by_reason.total()
            gaps[what] = f"{num:,} of {total:,} {what}: {'; '.join(reasons)}"
    is_all = not has_answers and not any(by_reason[""] for by_reason in counts.values())
    return Unmeasured(gaps, is_all)


def refuse_unmeasured(
    config: EvalConfig, cases: Sequence[Case], triggers: Triggers | None
) -> Unmeasured:
    """Return `find_unmeasured`; raise `ConfigError` if nothing is measured and `config.unmeasured` is false."""
    unmeasured = find_unmeasured(config, cases, triggers)
    if unmeasured.is_all and not config.unmeasured:
        raise ConfigError(
            f"nothing would be measured: {unmeasured.asked}: give what is missing, or "
            "unmeasured: true to sample the replies all the same"
        )
    return unmeasured


def _reason(
    config: EvalConfig, case: Case, arm: str, turn: int, kind: Kind, triggers: Triggers | None
) -> tuple[str, str]:
    """Return what a reply is, and why it stays undecided, "" where it does not."""
    instruction, probe = case.instruction_at(turn, kind), case.probe_at(turn)
    specs = instruction.verifiers if instruction else ()
    if kind == "probe" and probe:
        specs = probe.verifiers
    kinds = {spec.kind for spec in specs}
    what = TURNS if kind == "turn" else PROBES
    if instruction is None:
        return what, "" if triggers and triggers.entries else NO_POOL
    if (kinds and JUDGE not in kinds) or _is_judged(config, "adherence", arm, kind, turn):
        return what, ""
    return what, NOT_ASKED if config.judge else NO_JUDGE


def _is_judged(config: EvalConfig, task: JudgeTask, arm: str, kind: Kind, turn: int) -> bool:
    """Whether the judge is asked about an arm's reply to a turn."""
    judge = config.judge
    if judge is None or task not in judge.tasks or not judge.asks(kind, turn):
        return False
    return arm in (judge.arms or config.arms)
