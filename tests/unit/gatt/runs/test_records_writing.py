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


def test_a_short_write_is_completed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real: OsWrite = os.write
    with open_store(path) as store:
        monkeypatch.setattr("gatt.runs.store.os.write", lambda fd, data: real(fd, bytes(data)[:4]))
        store.append({"id": "abcdefgh"})
    assert path.read_bytes() == b'{"id": "abcdefgh"}\n'


def test_fsync_is_bounded_by_time_and_done_on_close(path, monkeypatch) -> None:
    synced: list[int] = []
    store = open_store(path)
    clock = [100.0]
    monkeypatch.setattr("gatt.runs.store.time.monotonic", lambda: clock[0])
    store.__enter__()
    monkeypatch.setattr("gatt.runs.store.os.fsync", synced.append)
    store.append({"id": 1})
    assert synced == []
    clock[0] = 105.0
    store.append({"id": 2})
    store.append({"id": 3})
    assert len(synced) == 1
    store.__exit__()
    assert len(synced) == 2
    # If the last one fails, the store is released all the same.
    store.__enter__()
    with monkeypatch.context() as patch:
        patch.setattr("gatt.runs.store.os.fsync", lambda _: raised(OSError(errno.EIO, "I/O")))
        with pytest.raises(StoreError, match="cannot write"):
            store.__exit__()
    with open_store(path):
        pass


def raised(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize(
    ("stop", "expected"),
    [(OSError(errno.ENOSPC, "full"), StoreError), (KeyboardInterrupt(), KeyboardInterrupt)],
    ids=["full disk", "interrupt"],
)
def test_a_stop_inside_a_line_cuts_back_to_the_last_complete_one(
    path: Path, monkeypatch: pytest.MonkeyPatch, stop: BaseException, expected: type[BaseException]
) -> None:
    real: OsWrite = os.write
    calls = iter([lambda fd, data: real(fd, bytes(data)[:5]), lambda *_: raised(stop)])
    with open_store(path) as store:
        store.append({"id": "a"})
        with monkeypatch.context() as patch:
            patch.setattr("gatt.runs.store.os.write", lambda fd, data: next(calls)(fd, data))
            with pytest.raises(expected, match=r"samples\.jsonl: no space|^$"):
                store.append({"id": "b"})
        assert path.read_bytes() == b'{"id": "a"}\n'
        store.append({"id": "c"})
    assert [row["id"] for row in read_records(path)] == ["a", "c"]
