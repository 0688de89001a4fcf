"""MultiChallenge: conversations whose last message only a model that reads all of them answers well.

Source of the format: github.com/ekwinox117/multi-challenge (arXiv:2501.17399), one JSON object a line::

    {"QUESTION_ID": "6745…", "AXIS": "INSTRUCTION_RETENTION", "CONVERSATION": [{"role": "user", …}, …],
     "TARGET_QUESTION": "Does the reply avoid …?", "PASS_CRITERIA": "YES"}

The instruction stands in the user's messages, so no arm is given it again. The last message, of the user,
is the one to answer: it alone is judged, by the question about it. The judge reads the user's first message as
the instruction, and a prompt of its own (`JUDGE_PROMPT`): the questions speak of "the model" and "its final
response". Other keys are not read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from eval.records.case_file import CaseLine
from gatt.data.dialogue import Dialogue, parse_messages
from gatt.errors import DataError
from gatt.runs.store import parsed_records
from gatt.verifiers.judge import JUDGE

AXES: Final = (
    "instruction_retention",
    "inference_memory",
    "self_coherence",
    "reliable_version_editing",
)
"""What a conversation demands, in small letters; the first is the one that Ghost Attention is about."""
JUDGE_PROMPT: Final = Path(__file__).with_name("multichallenge_judge.yaml")


def import_cases(path: Path, axis: str) -> list[CaseLine]:
    """Return the lines of a copy of MultiChallenge as cases; `axis` is one of `AXES`, or `all`.

    Raises:
        DataError: no such file, a line that is not of the format (with the line), or none of the axis.
    """
    cases = [case for _, case in parsed_records(path, _case, is_whole=True)]
    of_axis = [case for case in cases if axis in ("all", _axis_of(case))]
    if not of_axis:
        there = sorted({_axis_of(case) for case in cases})
        raise DataError(
            f"{path}: no line of the axis {axis!r}: found {', '.join(there) or 'no line'}"
        )
    return of_axis


def _axis_of(case: CaseLine) -> str:
    return str(case["instruction"]["value"])


def _case(number: int, raw: dict[str, Any]) -> CaseLine:
    conversation, axis, question, wanted = (
        raw.get(key) for key in ("CONVERSATION", "AXIS", "TARGET_QUESTION", "PASS_CRITERIA")
    )
    if not isinstance(conversation, list):
        raise DataError("no 'CONVERSATION': expected a line of MultiChallenge")
    for key, value in (("AXIS", axis), ("TARGET_QUESTION", question)):
        if not isinstance(value, str) or not value.strip():
            raise DataError(f"{key!r} is {value!r}: expected some text")
    answer = str(wanted).strip().upper()
    if answer not in ("YES", "NO"):
        raise DataError(f"'PASS_CRITERIA' is {wanted!r}: expected YES or NO")
    dialogue = Dialogue(f"multichallenge-{number:03d}", parse_messages(conversation))
    if dialogue.has_system or dialogue.messages[-1].role != "user":
        raise DataError(
            "expected a user message first and last, found "
            f"{dialogue.messages[0].role!r} and {dialogue.messages[-1].role!r}"
        )
    return {
        "id": dialogue.id,
        "messages": [m.as_dict() for m in dialogue.messages],
        "turns": "last",
        "instruction": {
            "text": dialogue.user_turns[0],
            "family": "multichallenge",
            "value": str(axis).strip().lower(),
            "placement": "none",
            "verifiers": [
                {
                    "kind": JUDGE,
                    "rubric": f"The answer to this question is {answer}: {str(question).strip()}",
                }
            ],
        },
    }
