"""One holder at a time, named by host and id; the end of a process frees its lock."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from gatt.errors import StoreError
from gatt.runs.store import lock_path, take_lock

HOLD = """
import sys
from pathlib import Path
from gatt.runs.store import take_lock
lock = take_lock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def refused(path: Path, *facts: str) -> None:
    with pytest.raises(StoreError) as caught:
        take_lock(path)
    assert [fact for fact in (str(path), *facts) if fact not in str(caught.value)] == []


def test_another_process_keeps_us_out_until_it_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "train.json"
    command, pipe = [sys.executable, "-c", HOLD, str(path)], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdout.readline() == "held\n"
        refused(path, f"host {platform.node()}", f"pid {other.pid}")
        other.kill()
        other.wait()
        take_lock(path).release()


def test_it_is_held_against_this_process_too(tmp_path: Path) -> None:
    path = tmp_path / "a"
    lock = take_lock(path)
    assert lock_path(path) == tmp_path / "a.lock"
    refused(path, f"pid {os.getpid()}")
    for unreadable in (b"", b"\xff"):
        lock_path(path).write_bytes(unreadable)
        refused(path, "unknown")
    lock.release()
    take_lock(path).release()
    with pytest.raises(FileNotFoundError):
        take_lock(tmp_path / "gone" / "a")


def test_a_forked_process_that_lives_on_does_not_hold_it(tmp_path: Path) -> None:
    lock = take_lock(tmp_path / "a")
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.read(reader, 1)
        os._exit(0)
    lock.release()
    take_lock(tmp_path / "a").release()
    os.write(writer, b"x")
    os.waitpid(child, 0)


def test_a_lock_whose_file_is_deleted_does_not_free_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "a"
    first = take_lock(path)
    lock_path(path).unlink()
    second = take_lock(path)
    first.release()
    refused(path)
    second.release()


def test_what_reads_data_is_imported_where_there_is_no_fcntl() -> None:
    code = (
        "import sys; sys.modules['fcntl'] = None\n"
        "import gatt.data.dialogue, gatt.data.views, gatt.verifiers.table, gatt.runs.store"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
