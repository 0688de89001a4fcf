"""The prompt of the judge: the fixed rubric of `rubric.yaml`, and the form of its answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from eval.scoring.judge.fence import boundary, fenced
from eval.scoring.judge.question import Question
from gatt.runs.yaml_file import read_mapping

RUBRIC_VERSION: Final = 1
"""Raised by one with every change of wording, fence or parsing: each can change a verdict."""
REASON_FORM: Final = "one short sentence"
"""Stands for the reason in the form; a judge that repeats it has given no reason."""
# No valid JSON: a judge that repeats the form has given no verdict.
_FORM: Final = (
    f'Answer with one JSON object and nothing else: {{"reason": "{REASON_FORM}", "verdict": '
    '"pass" or "fail"}'
)
PREFILL: Final = '{"reason": "'
"""Beginning of every answer in that form."""


@cache
def _rubric() -> dict[str, Any]:
    return read_mapping(Path(__file__).with_suffix(".yaml")).values


def judge_prompt(question: Question, seed: int, markers: Sequence[str] = ()) -> str:
    """Return the one message that the judge reads.

    It is a user message, because some chat templates have no system role. The part that
    all prompts of a task share comes first, so that an engine encodes it once. The question
    comes last, behind the judged texts.

    Args:
        question: texts and task.
        seed: see `boundary`.
        markers: control tokens of the judge's tokenizer.
    """
    code = boundary(seed, question.key, (text for _, text in question.texts))
    fences = [fenced(label, text, code, markers) for label, text in question.texts]
    rubric = _rubric()
    asked = rubric["criterion" if question.criteria else question.task]["question"]
    return "\n\n".join(
        (
            f"{rubric[question.task]['rules']}{rubric['data']}\n{_FORM}",
            f"The code of this request is {code}.",
            *fences,
            f"The data ends here. {asked} {_FORM}",
        )
    )
