"""`scripts/gpu_check.sh` with a stand-in for Python: which steps it takes, and what a failure does."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.support.texts.doc_pages import ROOT

STAND_IN = """#!/usr/bin/env bash
[[ $1 != - ]] || exit "$MISSING"
echo "$*" >>"$RECORD"
[[ "$*" != *"$FAILS"* ]] || { echo "seen so far"; exit 3; }
echo "┏ a table"
"""


def check(folder: Path, *steps: str, missing: int = 0, fails: str = "-") -> tuple[int, str, str]:
    """Return exit status, output and the commands that were run."""
    stand_in = folder / "python"
    stand_in.write_text(STAND_IN, encoding="utf-8")
    stand_in.chmod(0o755)
    (folder / "record").write_text("", encoding="utf-8")
    env = {
        **os.environ, "PYTHON": str(stand_in), "RECORD": str(folder / "record"),
        "MISSING": str(missing), "FAILS": fails if fails != "-" else "no such word",
    }  # fmt: skip
    done = subprocess.run(
        [str(ROOT / "scripts" / "gpu_check.sh"), str(folder / "out"), *steps],
        env=env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, (folder / "record").read_text(encoding="utf-8")


def test_every_step_is_taken_and_told(tmp_path: Path) -> None:
    status, said, commands = check(tmp_path)
    assert status == 0
    assert [word in commands for word in (
        "tests/numerics/test_cuda.py", "tests/numerics/test_cuda_training.py",
        "scripts/bench_sampling.py", "random-llama:1b", "random-llama:8b",
    )] == [True] * 5  # fmt: skip
    for path in ("tests/numerics/test_cuda.py", "scripts/bench_training.py"):
        assert (ROOT / path).is_file()
    summary = (tmp_path / "out" / "summary.txt").read_text(encoding="utf-8")
    names = [line.split()[0] for line in summary.splitlines()]
    assert names == ["attention", "training", "sampling", "bench_1b", "bench_8b"]
    assert said.count("┏ a table") == 5
    assert said.endswith(summary)
