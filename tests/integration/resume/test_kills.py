"""SIGKILL at random moments: the file of the resumed run is that of a run left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.runs.killed_runs import killed_runs


@pytest.mark.processes
@pytest.mark.parametrize(("kind", "num_kills"), [("local", 50), ("answers", 20)])
def test_kills_leave_the_bytes_of_a_run_left_alone(
    kind: str, num_kills: int, tmp_path: Path
) -> None:
    found = killed_runs(tmp_path, kind, num_kills)
    assert sum(found["left"].values()) == num_kills
    assert max(found["finished_after_kills"]) >= 2
    assert found["left"]["part of a batch"] >= 1
