"""RealGuardrails: system messages that people wrote, behind dialogues about something else, with guardrails.

Source of the format: github.com/normster/RealGuardrails (arXiv:2502.12197), one JSON object a line::

    {"id": "65dd…", "messages": [{"role": "system", …}, {"role": "user", …}, {"role": "assistant", …}, …],
     "guardrails": ["Never says …", …], …}

The system message is the instruction, and the last message, of the user, is the one to answer: it alone is
judged. Each guardrail is a criterion for the judge. A file without guardrails, as for hand-written attacks,
leaves the whole system message to the judge. Other keys are not read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eval.records.case_file import CaseLine
from gatt.data.dialogue import Dialogue, parse_messages
from gatt.errors import DataError
from gatt.runs.store import parsed_records
from gatt.verifiers.judge import JUDGE


def import_cases(path: Path) -> list[CaseLine]:
    """Return the lines of a copy of RealGuardrails as cases.

    Raises:
        DataError: no such file, or a line that is not of the format; with the line.
    """
    cases = [case for _, case in parsed_records(path, _case, is_whole=True)]
    if not cases:
        raise DataError(f"{path}: no line in it: expected a file of RealGuardrails")
    return cases


def _case(number: int, raw: dict[str, Any]) -> CaseLine:
    messages, guardrails = raw.get("messages"), raw.get("guardrails", [])
    if not isinstance(messages, list):
        raise DataError("no 'messages': expected a line of RealGuardrails")
    if not isinstance(guardrails, list) or not all(
        isinstance(g, str) and g.strip() for g in guardrails
    ):
        raise DataError(f"'guardrails' is {guardrails!r}: expected a list of texts")
    group = str(raw.get("id") or number).replace("/", "-")
    dialogue = Dialogue(f"realguardrails-{number:04d}", parse_messages(messages))
    if not dialogue.has_system or dialogue.messages[-1].role != "user":
        raise DataError(
            "expected a system message first and a user message last, found "
            f"{dialogue.messages[0].role!r} and {dialogue.messages[-1].role!r}"
        )
    return {
        "id": dialogue.id,
        "messages": [m.as_dict() for m in dialogue.messages if m.role != "system"],
        "turns": "last",
        "instruction": {
            "text": dialogue.system or "",
            "family": "realguardrails",
            "value": group,
            "verifiers": [{"kind": JUDGE, "rubric": text} for text in guardrails],
        },
    }
