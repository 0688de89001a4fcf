"""One holder at a time, told by its id; the end of a process frees its lock."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gatt.errors import StoreError
from gatt.runs.lock import free_lock, lock_note, lock_path, take_lock, write_note

HOLD = """
import sys
from pathlib import Path
from gatt.runs.lock import take_lock
take_lock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def another_process(path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_the_lock_stands_beside_the_path_and_names_us(tmp_path: Path) -> None:
    path = tmp_path / "train.json"
    fd = take_lock(path)
    assert lock_path(path) == tmp_path / "train.json.lock"
    assert lock_path(path).read_text(encoding="utf-8") == f"{os.getpid()}\n"
    free_lock(fd)


def test_another_process_keeps_us_out_until_it_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "train.json"
    with another_process(path) as other:
        with pytest.raises(
            StoreError,
            match=rf"^{path}: is in use by another process \(pid {other.pid}\): wait for it or end",
        ):
            take_lock(path)
        other.kill()
        other.wait()
        free_lock(take_lock(path))


def test_it_is_held_against_this_process_too(tmp_path: Path) -> None:
    fd = take_lock(tmp_path / "a")
    with pytest.raises(StoreError, match=rf"in use by another process \(pid {os.getpid()}\)"):
        take_lock(tmp_path / "a")
    free_lock(fd)
    free_lock(take_lock(tmp_path / "a"))


def test_a_forked_process_that_lives_on_does_not_hold_it(tmp_path: Path) -> None:
    fd = take_lock(tmp_path / "a")
    copy = os.dup(fd)
    free_lock(fd)
    free_lock(take_lock(tmp_path / "a"))
    os.close(copy)


def test_a_lock_that_its_holder_removes_is_not_taken_under_the_same_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    opened = os.open

    def open_then_removed(*args: object, **kwargs: object) -> int:
        fd = opened(*args, **kwargs)  # type: ignore[arg-type]
        monkeypatch.setattr(os, "open", opened)
        lock_path(path).unlink()
        return fd

    monkeypatch.setattr(os, "open", open_then_removed)
    fd = take_lock(path)
    with pytest.raises(StoreError, match="in use"):
        take_lock(path)
    free_lock(fd)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        take_lock(tmp_path / "gone" / "a")


def test_who_holds_a_lock_can_be_seen_without_taking_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    assert lock_note(path) == (False, "")
    fd = take_lock(path)
    write_note(fd, "on the first row\n")
    assert lock_note(path) == (True, f"{os.getpid()}\non the first row\n")
    with pytest.raises(StoreError, match=rf"\(pid {os.getpid()}\)"):
        take_lock(path)
    free_lock(fd)
    assert lock_note(path) == (False, f"{os.getpid()}\non the first row\n")
    fd = take_lock(path)
    assert lock_note(path) == (True, f"{os.getpid()}\n")
    free_lock(fd)


def test_somebody_who_only_looks_keeps_nobody_out(tmp_path: Path) -> None:
    path = tmp_path / "a"
    free_lock(take_lock(path))
    looker = os.open(lock_path(path), os.O_RDONLY)
    fcntl.flock(looker, fcntl.LOCK_SH)
    threading.Timer(0.005, os.close, [looker]).start()
    free_lock(take_lock(path))


def test_a_patient_taker_waits_for_the_holder(tmp_path: Path, caplog) -> None:
    path = tmp_path / "a"
    with another_process(path) as other:
        threading.Timer(0.1, other.kill).start()
        free_lock(take_lock(path, waits=True))
        assert f"{path}: waiting for another process (pid {other.pid}) to finish it" in caplog.text
