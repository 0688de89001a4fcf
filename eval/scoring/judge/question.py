"""What the judge is asked: one question a reply and task."""

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

    The conversation before the user message is no part of it: the judge reads
    one exchange, as the rules do.
    """

    task: Task
    sample_key: tuple[str, ...]
    instruction: str
    """Empty for completion: a judge that read it would judge adherence twice."""
    criteria: tuple[str, ...]
    """Rubrics of the `judge` verifiers; where there are any, nothing else is judged."""
    user: str
    reply: str

    @property
    def key(self) -> str:
        """What no two questions of a run share, as one line of text."""
        return json.dumps([self.task, *self.sample_key], ensure_ascii=False)

    @property
    def judge_key(self) -> JudgeKey:
        """The key of its verdict."""
        return self.task, self.sample_key

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """Label and text of everything that the judge must take for data, the reply last."""
        instruction = (("INSTRUCTION", self.instruction),) if self.instruction else ()
        criteria = tuple(("CRITERION", text) for text in self.criteria)
        return (*instruction, *criteria, ("USER MESSAGE", self.user), ("REPLY", self.reply))

    @property
    def digest(self) -> str:
        """Equal for equal questions: a verdict is one on these texts and no others."""
        return fingerprint([self.task, *self.texts])


def questions(samples: Iterable[Sample], config: JudgeConfig) -> list[Question]:
    """Return the questions of a configuration, by key: the order of the samples counts for nothing.

    Asked are replies with text only. Adherence is asked where there is an
    instruction, completion about ordinary turns, plain dialogues included.

    Raises:
        DataError: the same sample twice.
    """
    found: dict[str, Question] = {}
    for sample in samples:
        if not _is_asked(sample, config):
            continue
        for task in config.tasks:
            question = _question(sample, task)
            if question is None:
                continue
            if question.key in found:
                raise DataError(
                    f"arm {sample.arm!r}, dialogue {sample.dialogue!r}, turn {sample.turn}: the same "
                    f"{sample.kind} twice: expected each once"
                )
            found[question.key] = question
    return [found[key] for key in sorted(found)]


def _is_asked(sample: Sample, config: JudgeConfig) -> bool:
    return (
        bool(sample.reply.strip())
        and sample.kind in config.kinds
        and (not config.arms or sample.arm in config.arms)
        and (not config.turns or sample.turn in config.turns)
    )


def _question(sample: Sample, task: Task) -> Question | None:
    if task == "completion":
        if sample.kind == "probe":
            return None
        return Question(task, sample.key, "", (), sample.user, sample.reply)
    if sample.instruction is None:
        return None
    rubrics = tuple(str(s.params["rubric"]) for s in sample.asked if s.kind == JUDGE)
    return Question(task, sample.key, sample.instruction.text, rubrics, sample.user, sample.reply)
