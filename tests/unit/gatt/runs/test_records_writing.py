"""A full disk, a limit, an interrupt or a failing fsync leaves whole rows, and the old file."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gatt.errors import StoreError
from gatt.runs.store import read_records
from tests.support.runs.stores import open_store

OsWrite = Callable[[int, Any], int]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "samples.jsonl"


def _full_disk(monkeypatch: pytest.MonkeyPatch, code: int, num_bytes: int) -> None:
    """Let the next write take `num_bytes`, and refuse the one after it."""
    real: OsWrite = os.write
    calls = []

    def write(fd: int, data: Any) -> int:
        calls.append(fd)
        if len(calls) == 1:
            return real(fd, bytes(data)[:num_bytes])
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("gatt.runs.store.os.write", write)


def test_a_full_disk_cuts_back_to_the_last_complete_line(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(path) as store:
        store.append({"id": "a"})
        with monkeypatch.context() as patch:
            _full_disk(patch, errno.ENOSPC, 5)
            with pytest.raises(
                StoreError,
                match=r"samples\.jsonl: no space left on its device: what was written stays "
                r"valid, free some space and start again",
            ):
                store.append({"id": "b"})
        assert path.read_bytes() == b'{"id": "a"}\n'
        store.append({"id": "c"})
    assert [row["id"] for row in read_records(path)] == ["a", "c"]


def test_a_file_limit_of_the_kernel_tears_nothing(path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    code = (
        "import sys; from pathlib import Path; from gatt.runs.store import RecordStore\n"
        "with RecordStore(Path(sys.argv[1]), fingerprint='f1', kind='sample') as store:\n"
        "    for n in range(100): store.append({'id': n, 'text': 'x' * 100})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "cannot write: File too large: what was written stays valid" in done.stderr
    content = path.read_bytes()
    assert content.endswith(b"\n")
    assert 3900 < len(content) <= 4096
    assert [row["id"] for row in read_records(path)] == list(range(content.count(b"\n")))


def test_an_interrupt_inside_a_line_leaves_no_torn_row(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real: OsWrite = os.write

    def write(fd: int, data: Any) -> int:
        real(fd, bytes(data)[:3])
        raise KeyboardInterrupt

    with open_store(path) as store:
        store.append({"id": "a"})
        with monkeypatch.context() as patch:
            patch.setattr("gatt.runs.store.os.write", write)
            with pytest.raises(KeyboardInterrupt):
                store.append({"id": "b"})
    assert path.read_bytes() == b'{"id": "a"}\n'


def test_a_short_write_is_completed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real: OsWrite = os.write
    with open_store(path) as store:
        monkeypatch.setattr("gatt.runs.store.os.write", lambda fd, data: real(fd, bytes(data)[:4]))
        store.append({"id": "abcdefgh"})
    assert path.read_bytes() == b'{"id": "abcdefgh"}\n'


def test_fsync_is_bounded_by_time_and_done_on_close(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    store = open_store(path, fsync_seconds=5.0)
    clock = [100.0]
    monkeypatch.setattr("gatt.runs.store.time.monotonic", lambda: clock[0])
    store.open()
    monkeypatch.setattr("gatt.runs.store.os.fsync", synced.append)
    store.append({"id": 1})
    assert synced == []
    clock[0] = 105.0
    store.append({"id": 2})
    store.append({"id": 3})
    assert len(synced) == 1
    store.close()
    store.close()
    assert len(synced) == 2


def test_a_failing_last_fsync_is_an_error_and_still_releases(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fsync(fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    store = open_store(path)
    store.open()
    with monkeypatch.context() as patch:
        patch.setattr("gatt.runs.store.os.fsync", fsync)
        with pytest.raises(StoreError, match="cannot write: Input/output error"):
            store.close()
    with open_store(path):
        pass
