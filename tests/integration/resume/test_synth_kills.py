"""Kills at random moments with the local engine behind the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.runs.killed_runs import killed_runs


@pytest.mark.processes
def test_fifty_kills_of_the_local_engine_leave_the_bytes_of_a_run_left_alone(
    tmp_path: Path,
) -> None:
    found = killed_runs(tmp_path, "--kills", "50", "--engine", "local", "--pause", "0.02")
    assert found["kills"] == 50
    assert max(found["finished_after_kills"]) >= 2
    assert found["left"]["part of a batch"] >= 1
