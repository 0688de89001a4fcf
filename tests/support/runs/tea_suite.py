"""A suite of a few cases about tea, as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.runs.case_files import write_suite_file

TEA = {"kind": "terms", "any_of": ["tea"]}
QUESTION = "What do you sell?"
RULE = "You run a tea shop. Mention tea in every reply."


def case(name: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": name,
        "user_turns": [f"Question {turn} of {name}?" for turn in range(1, 5)],
        "instruction": {"text": RULE, "family": "tea", "value": "tea", "verifiers": [TEA]},
        "probes": [{"question": QUESTION, "verifiers": [TEA]}],
    } | changes


def suite(folder: Path, *cases: dict[str, Any], turns: str = "[1, 2, 3, 4]") -> str:
    return str(write_suite_file(folder, f"turns: {turns}\nprobe_turns: [3]\n", cases))
