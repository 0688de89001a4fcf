"""The replies to look at: those of an evaluation, or new ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eval.records.case import BLANK, Case
from eval.records.file_names import ROLLOUTS_FILE, samples_of_run
from eval.records.samples import History, Sample, read_samples
from eval.rollout.roll_out import roll_out
from eval.rollout.rows import said_so_far
from eval.scoring.verdict import judge
from eval.studies.attention.layout import Said
from eval.studies.attention.task import Task
from gatt.data.dialogue import Dialogue, Message
from gatt.data.instruction import Instruction
from gatt.errors import DataError
from gatt.generation.base import Engine
from gatt.runs.progress import progress_bar


@dataclass(frozen=True)
class Spoken:
    """One arm's replies to one case, and the dialogue in which it gave them."""

    case: Case
    arm: str
    dialogue: Dialogue
    """Without the instruction."""
    samples: tuple[Sample, ...]
    """At rising turns, at least one."""

    @property
    def instruction(self) -> Instruction:
        """Told in turn 1."""
        assert self.case.instruction is not None
        return self.case.instruction

    def holds_at(self, turn: int) -> bool:
        """Whether the instruction holds at a turn: the user may have released the model from it."""
        return self.case.told(turn) == "kept"

    @property
    def said(self) -> list[Said]:
        """The replies, as `lay_out` takes them."""
        return [Said(s.turn, s.reply, s.finish == "stop") for s in self.samples]


def new_replies(task: Task, engine: Engine) -> list[Spoken]:
    """Return both arms' replies to all cases, sampled now and judged."""
    batches = [
        (arm, task.cases[start : start + task.config.batch_cases])
        for arm in task.arms
        for start in range(0, len(task.cases), task.config.batch_cases)
    ]
    spoken: list[Spoken] = []
    with progress_bar("replies", len(task.cases) * len(task.arms), unit="dialogues") as bar:
        for arm, cases in batches:
            found: dict[str, list[Sample]] = {case.id: [] for case in cases}
            for replies in roll_out(engine, cases, arm, task.history, task.config):
                for reply in replies:
                    found[reply.case.id].append(judge(reply, arm, task.history, ()))
            for case in cases:
                texts = [s.reply for s in found[case.id]]
                spoken += _spoken(task, case, arm, texts, found[case.id])
            bar.advance(len(cases))
    return spoken


def replies_of(task: Task, folder: Path) -> list[Spoken]:
    """Return both arms' replies to all cases as an evaluation holds them.

    Raises:
        DataError: a case without replies of both arms, or whose dialogue is not the
            one that was evaluated.
    """
    by_case: dict[tuple[str, tuple[str, str, str]], list[Sample]] = {}
    for sample in read_samples(samples_of_run(folder)):
        if sample.kind == "turn" and sample.history == task.history:
            by_case.setdefault((sample.arm, sample.case), []).append(sample)
    said = said_so_far(folder / ROLLOUTS_FILE) if task.history == "own" else {}
    spoken: list[Spoken] = []
    for case in task.cases:
        name = case.instruction.id if case.instruction else ""
        for arm in task.arms:
            samples = by_case.get((arm, (case.dialogue.id, name, case.twin)), [])
            if not samples:
                raise DataError(
                    f"{folder}: no reply of arm {arm!r} to case {case.id!r} with history "
                    f"{task.history!r}: expected those of both arms, finish the evaluation first"
                )
            if any(case.user_turn(s.turn) != s.user for s in samples):
                raise DataError(
                    f"{folder}: case {case.id!r}: its source gives another dialogue now than the one that "
                    "was evaluated: expected the same data and catalogue"
                )
            texts = [g.text for g in said.get(f"{arm}/{task.history}/{case.id}", ())]
            spoken += _spoken(task, case, arm, texts, samples)
    return spoken


def _spoken(
    task: Task, case: Case, arm: str, texts: Sequence[str], samples: Sequence[Sample]
) -> list[Spoken]:
    """Return the replies at the turns that are looked at; none, and counted, where there is none."""
    wanted = [s for s in samples if not task.turns or s.turn in task.turns]
    if not wanted:
        task.dropped["no reply at these turns"] += 1
        return []
    ordered = sorted(wanted, key=lambda s: s.turn)
    return [Spoken(case, arm, _read(case, task.history, texts), tuple(ordered))]


def _read(case: Case, history: History, texts: Sequence[str]) -> Dialogue:
    """Return what stands in the history of a case."""
    if history == "reference":
        return case.dialogue
    messages = []
    for turn, text in enumerate(texts, start=1):
        messages.append(Message("user", case.user_turn(turn)))
        messages.append(Message("assistant", text.strip() or BLANK))
    return Dialogue(case.dialogue.id, tuple(messages))
