"""Case files and suites, and evaluations of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from eval.config import EvalConfig


def write_case_file(folder: Path, cases: Iterable[Mapping[str, Any]]) -> Path:
    """Write `cases.jsonl` in a folder and return its path."""
    path = folder / "cases.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    return path


def write_suite_file(folder: Path, head: str, cases: Iterable[Mapping[str, Any]]) -> Path:
    """Write a suite of cases with these settings as YAML, and return its file."""
    write_case_file(folder, cases)
    path = folder / "suite.yaml"
    path.write_text(f"cases: cases.jsonl\n{head}", encoding="utf-8")
    return path


def case_config(folder: Path, path: Path, **changes: Any) -> EvalConfig:
    """Return an evaluation of a case file: two turns of the base arm's own history, no probes."""
    settings: dict[str, Any] = {
        "output_dir": folder / "out",
        "arms": ("base",),
        "cases": path,
        "turns": (1, 2),
        "probe_turns": (),
        "histories": ("own",),
        "task_completion": False,
    }
    return EvalConfig(**settings | changes)
