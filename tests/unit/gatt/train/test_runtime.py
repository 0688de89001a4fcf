"""How a process ends, and how many agree."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from gatt.errors import GattError, StoreError, ToldByMainError
from gatt.train.runtime import from_everyone, from_main, leave

SCRIPT = """
import atexit, sys
from gatt.train.runtime import leave
atexit.register(lambda: print("handler"))
sys.stdout.write("written ")
leave(3)
"""


def test_leaving_runs_exit_handlers_flushes_and_keeps_the_status(monkeypatch) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "WORLD_SIZE": "2"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "written handler\n"), done.stderr
    # A process alone ends as any other.
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with pytest.raises(SystemExit, match="3"):
        leave(3)


def fail() -> int:
    raise StoreError("out: is in use")


def gathered(monkeypatch: pytest.MonkeyPatch, rank: int, other: tuple[Any, str | None]) -> None:
    """Make this process one of two; the other one's outcome is given."""
    runtime = SimpleNamespace(num_processes=2, is_main_process=rank == 0)
    monkeypatch.setattr("gatt.train.runtime.current_runtime", lambda: runtime)

    def gather(own: list[Any]) -> list[Any]:
        return [*own, other] if rank == 0 else [other, *own]

    monkeypatch.setattr("accelerate.utils.gather_object", gather)


def test_everyone_hears_what_each_computed_and_the_main_one_alone(monkeypatch) -> None:
    assert from_main(lambda: 3) == 3
    with pytest.raises(StoreError, match=r"^out: is in use$"):
        from_main(fail)
    gathered(monkeypatch, 0, (None, None))
    assert from_main(lambda: 3) == 3
    gathered(monkeypatch, 1, (7, None))
    assert from_everyone(lambda: 3) == [7, 3]
    assert from_main(fail) == 7
    gathered(monkeypatch, 1, (None, "StoreError: out: is in use"))
    with pytest.raises(ToldByMainError, match=r"^StoreError: out: is in use$"):
        from_main(fail)


def test_an_error_of_one_process_is_told_once_and_stops_all(monkeypatch) -> None:
    gathered(monkeypatch, 0, (None, "StoreError: out: is full"))
    with pytest.raises(GattError, match=r"^process 1 of 2: StoreError: out: is full$"):
        from_everyone(lambda: 3)
    with pytest.raises(StoreError, match=r"^out: is in use$"):
        from_everyone(fail)
    gathered(monkeypatch, 1, (3, None))
    with pytest.raises(ToldByMainError, match=r"^StoreError: out: is in use$"):
        from_everyone(fail)
    # A bug keeps its traceback where it is.
    with pytest.raises(ZeroDivisionError):
        from_everyone(lambda: 1 // 0)
