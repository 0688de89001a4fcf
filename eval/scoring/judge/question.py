"""The questions to the judge: one for each reply and task."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from eval.records.samples import Sample
from eval.scoring.judge.config import JudgeConfig, Task
from gatt.errors import DataError
from gatt.runs.fingerprint import fingerprint
from gatt.verifiers.graded.judge import JUDGE

JudgeKey = tuple[Task, tuple[str, ...]]
"""Task and `Sample.key`."""


@dataclass(frozen=True, slots=True)
class Question:
    """One reply that the judge is asked about.

    The judge reads one exchange, as the rules do, and not the conversation before it.
    """

    task: Task
    sample_key: tuple[str, ...]
    instruction: str
    """Empty for completion: a judge that read the instruction would judge adherence again."""
    criteria: tuple[str, ...]
    """Rubrics of the `judge` verifiers; if there are any, nothing else is judged."""
    user: str
    reply: str

    @property
    def key(self) -> str:
        """Unique among the questions of a run, as one line of text."""
        return json.dumps([self.task, *self.sample_key], ensure_ascii=False)

    @property
    def judge_key(self) -> JudgeKey:
        """The key of its verdict."""
        return self.task, self.sample_key

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """Label and text of everything that is data for the judge, the reply last."""
        instruction = (("INSTRUCTION", self.instruction),) if self.instruction else ()
        criteria = tuple(("CRITERION", text) for text in self.criteria)
        return (*instruction, *criteria, ("USER MESSAGE", self.user), ("REPLY", self.reply))

    @property
    def digest(self) -> str:
        """Equal for equal questions: a verdict is valid for these texts only."""
        return fingerprint([self.task, *self.texts])


def questions(samples: Iterable[Sample], config: JudgeConfig) -> list[Question]:
    """Return the questions of a configuration, sorted by key: the order of the samples has no effect.

    Only replies with text are asked about: adherence if there is an instruction, completion
    for ordinary turns, those of plain dialogues included.

    Raises:
        DataError: the same sample twice.
    """
    found: dict[str, Question] = {}
    for sample in filter(config.is_asked, samples):
        for question in filter(None, (_question(sample, task) for task in config.tasks)):
            if question.key in found:
                raise DataError(
                    f"arm {sample.arm!r}, dialogue {sample.dialogue!r}, turn {sample.turn}: the same "
                    f"{sample.kind} twice: expected each once"
                )
            found[question.key] = question
    return [found[key] for key in sorted(found)]


def _question(sample: Sample, task: Task) -> Question | None:
    instruction = ""
    rubrics: tuple[str, ...] = ()
    if task == "adherence":
        if sample.instruction is None:
            return None
        instruction = sample.instruction.text
        rubrics = tuple(str(s.params["rubric"]) for s in sample.asked if s.kind == JUDGE)
    elif sample.kind == "probe":
        return None
    return Question(task, sample.key, instruction, rubrics, sample.user, sample.reply)
