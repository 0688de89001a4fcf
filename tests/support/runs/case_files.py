"""Case files and suites, and evaluations of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from eval.config import EvalConfig
from gatt.data.catalog.choice import InstructionChoice
from gatt.sources.config import SourceConfig
from tests.support.runs.stages import write_dialogues, write_jsonl

TEA = {"kind": "terms", "any_of": ["tea"]}
QUESTION = "What do you sell?"
RULE = "You run a tea shop. Mention tea in every reply."


def write_case_file(folder: Path, cases: Iterable[Mapping[str, Any]]) -> Path:
    """Write `cases.jsonl` in a folder and return its path."""
    return write_jsonl(folder / "cases.jsonl", cases)


def write_suite_file(folder: Path, head: str, cases: Iterable[Mapping[str, Any]]) -> Path:
    """Write a suite of cases with these settings as YAML, and return its file."""
    write_case_file(folder, cases)
    path = folder / "suite.yaml"
    path.write_text(f"cases: cases.jsonl\n{head}", encoding="utf-8")
    return path


def case_config(folder: Path, path: Path, **changes: Any) -> EvalConfig:
    """Return an evaluation of a case file: two turns of the base arm's own history, no probes."""
    settings: dict[str, Any] = {
        "output_dir": folder / "out", "arms": ("base",), "cases": path, "turns": (1, 2), "probe_turns": (),
        "histories": ("own",),
    }  # fmt: skip
    return EvalConfig(**settings | changes)


def dialogue_config(folder: Path, **changes: Any) -> EvalConfig:
    """Return an evaluation of dialogues of four turns under hobbies: both histories, a probe at turn 2."""
    path = write_dialogues(folder / "d.jsonl", num=5, num_turns=4)
    settings: dict[str, Any] = {
        "output_dir": folder / "out", "arms": ("base",), "part": None, "splits": ("train",),
        "source": SourceConfig(name="jsonl", path=str(path), min_turns=4, max_turns=4),
        "instructions": InstructionChoice(families=("hobby",), num_entries=(1.0,)), "num_dialogues": 4,
        "turns": (1, 2, 4), "probe_turns": (2,), "histories": ("reference", "own"), "batch_cases": 4,
    }  # fmt: skip
    return EvalConfig(**settings | changes)


def tea_case(name: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": name,
        "user_turns": [f"Question {turn} of {name}?" for turn in range(1, 5)],
        "instruction": {"text": RULE, "family": "tea", "value": "tea", "verifiers": [TEA]},
        "probes": [{"question": QUESTION, "verifiers": [TEA]}],
    } | changes


def tea_suite(folder: Path, *cases: dict[str, Any], turns: str = "[1, 2, 3, 4]") -> str:
    return str(write_suite_file(folder, f"turns: {turns}\nprobe_turns: [3]\n", cases))
