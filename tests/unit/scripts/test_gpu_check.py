"""`scripts/gpu_check.sh` with a stand-in for Python: which steps it takes, and what a failure does."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.support.texts.doc_pages import ROOT

STAND_IN = """#!/usr/bin/env bash
[[ $1 != - ]] || exit 0
echo "$*" >>"$RECORD"
echo "┏ a table"
"""


def test_every_step_is_taken_and_told(tmp_path: Path) -> None:
    stand_in, record = tmp_path / "python", tmp_path / "record"
    stand_in.write_text(STAND_IN, encoding="utf-8")
    stand_in.chmod(0o755)
    done = subprocess.run(
        [str(ROOT / "scripts" / "gpu_check.sh"), str(tmp_path / "out")],
        env={**os.environ, "PYTHON": str(stand_in), "RECORD": str(record)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    commands = record.read_text(encoding="utf-8")
    files = ("tests/numerics/test_cuda.py", "tests/numerics/test_cuda_training.py",
             "scripts/bench_sampling.py", "scripts/bench_training.py")  # fmt: skip
    for word in (*files, "random-llama:1b", "random-llama:8b"):
        assert word in commands
    assert all((ROOT / path).is_file() for path in files)
    summary = (tmp_path / "out" / "summary.txt").read_text(encoding="utf-8")
    names = [line.split()[0] for line in summary.splitlines()]
    assert names == ["attention", "training", "sampling", "bench_1b", "bench_8b"]
    assert done.stdout.count("┏ a table") == 5
    assert done.stdout.endswith(summary)
