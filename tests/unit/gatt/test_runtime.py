"""How a process ends."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import atexit, sys
from gatt.runtime import leave
atexit.register(lambda: print("handler"))
sys.stdout.write("written ")
leave(3)
"""


@pytest.mark.parametrize("world_size", ["1", "2"])
def test_leaving_runs_exit_handlers_flushes_and_keeps_the_status(world_size: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "WORLD_SIZE": world_size},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "written handler\n"), done.stderr
