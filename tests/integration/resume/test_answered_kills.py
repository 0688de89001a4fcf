"""SIGKILL while questions are answered: the file of the resumed run is that of a run left alone."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.runs.killed_answers import answer

ROOT = Path(__file__).resolve().parents[3]


def run_process(path: Path, last_event: int) -> int:
    words = [sys.executable, "-m", "tests.support.runs.killed_answers", str(path), str(last_event)]
    return subprocess.run(words, cwd=ROOT, check=False).returncode


@pytest.mark.processes
def test_kills_at_random_moments_leave_the_bytes_of_a_run_left_alone(tmp_path: Path) -> None:
    num_events = 0

    def count() -> None:
        nonlocal num_events
        num_events += 1

    answer(tmp_path / "alone.jsonl", count)
    expected = (tmp_path / "alone.jsonl").read_bytes()
    rng = random.Random(0)
    kills, finished = 0, 0
    while kills < 12 or not finished:
        path = tmp_path / f"killed-{finished}.jsonl"
        # Far enough to write rows, early enough to need several calls.
        status = run_process(path, rng.randint(1, num_events) if kills < 12 else 10**6)
        if status == -signal.SIGKILL:
            kills += 1
            continue
        assert status == 0
        assert path.read_bytes() == expected
        finished += 1
    assert kills == 12
