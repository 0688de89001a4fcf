"""Stores survive a kill at any byte and a full disk, refuse other runs, and never write half a row."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gatt.errors import DataError, StoreError
from gatt.runs.store import RecordStore, meta_path, parsed_records, read_meta, read_records


def open_store(path: Path, **kwargs: Any) -> RecordStore:
    return RecordStore(path, fingerprint="f1", kind="sample", **kwargs)


def fill(path: Path, rows: list[dict[str, Any]]) -> None:
    with open_store(path) as store:
        for row in rows:
            store.append(row)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "samples.jsonl"


def test_rows_and_meta_are_on_disk_as_documented(path: Path) -> None:
    with open_store(path, describe={"seed": 1}) as store:
        store.append({"id": "a", "text": "schön\nzwei"})
        store.append({"id": 2})
        assert len(store) == 2
        assert store.keys("id") == {"a", "2"}
        assert list(store) == [{"id": "a", "text": "schön\nzwei"}, {"id": 2}]
    assert path.read_text(encoding="utf-8") == '{"id": "a", "text": "schön\\nzwei"}\n{"id": 2}\n'
    meta = json.loads((path.parent / "samples.jsonl.meta.json").read_text(encoding="utf-8"))
    assert meta == {"kind": "sample", "schema": 1, "fingerprint": "f1", "describe": {"seed": 1}}
    # A second opening appends; half a surrogate pair is written escaped.
    with open_store(path, describe={"seed": 1}) as store:
        assert len(store) == 2
        store.append({"id": "\ud83d"})
    assert path.read_bytes().endswith(b'\n{"id": "\\ud83d"}\n')
    assert [row["id"] for row in read_records(path)] == ["a", 2, "\ud83d"]


def test_every_crash_point_keeps_all_complete_rows(path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "a", "text": "é\n"},
        {"id": "b", "nested": [{}]},
        {"id": "c"},
    ]
    fill(path, rows)
    whole = path.read_bytes()
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        num_complete = whole[:size].count(b"\n")
        with open_store(path) as store:
            assert list(store) == rows[:num_complete]
            for row in rows[num_complete:]:
                store.append(row)
        assert path.read_bytes() == whole


def test_a_last_line_with_newline_but_broken_json_is_cut_off(path: Path) -> None:
    fill(path, [{"id": "a"}])
    with path.open("ab") as stream:
        stream.write(b'{"id": \x00\xff\n')
    with open_store(path) as store:
        assert list(store) == [{"id": "a"}]
    assert path.read_bytes() == b'{"id": "a"}\n'


@pytest.mark.parametrize(
    ("line", "found"),
    [(b'{"id": "b', "broken JSON"), (b"[1]", "found list"), (b'{"a": "\xff"}', "broken JSON")],
)
def test_a_broken_line_in_the_middle_is_an_error_with_its_number(path, line, found) -> None:
    fill(path, [{"id": "a"}])
    content = path.read_bytes() + line + b'\n{"id": "c"}\n'
    path.write_bytes(content)
    with pytest.raises(StoreError, match=rf"samples\.jsonl line 2: {found}.*one JSON object"):
        open_store(path).__enter__()
    with pytest.raises(DataError, match=r"line 2"):
        list(read_records(path))
    assert path.read_bytes() == content
    path.write_bytes(b'{"id": "a"}\n')
    open_store(path).__enter__()


def test_reading_takes_a_whole_object_without_newline_and_passes_over_a_torn_one(tmp_path) -> None:
    path = tmp_path / "x.jsonl"
    # A byte-order mark and blank lines are no rows.
    path.write_bytes(b'\xef\xbb\xbf{"id": 1}\n\n{"id": 2}')
    assert list(read_records(path)) == [{"id": 1}, {"id": 2}]
    for is_whole in (False, True):
        assert [n for n, _ in parsed_records(path, lambda _, row: row, is_whole=is_whole)] == [1, 3]
    path.write_text('{"id": 1}\n{"id": 2', encoding="utf-8")
    assert list(read_records(path)) == [{"id": 1}]


@pytest.mark.parametrize(
    ("content", "is_whole", "line"),
    [(b'{"id": 1}\n{"id": 2', True, 2), (b'{"id": "\xe9"}\n{}\n', True, 1), (None, True, None)],
)
def test_rows_of_data_are_refused_as_data(tmp_path: Path, content, is_whole, line) -> None:
    path = tmp_path / "x.jsonl"
    if content is not None:
        path.write_bytes(content)
    fact = rf"x\.jsonl line {line}: " if line else r"x\.jsonl: "
    with pytest.raises(DataError, match=fact):
        list(parsed_records(path, lambda _, row: row, is_whole=is_whole))


@pytest.mark.parametrize(("value", "error"), [(float("nan"), ValueError), (object(), TypeError)])
def test_a_value_that_json_does_not_take_writes_nothing(path, value, error) -> None:
    with open_store(path) as store:
        with pytest.raises(error):
            store.append({"id": "a", "value": value})
        assert path.read_bytes() == b""


META = {"kind": "sample", "schema": 1, "fingerprint": "f1"}


@pytest.mark.parametrize(
    ("meta", "facts"),
    [
        (None, ()),
        ("{", ("JSON",)),
        (json.dumps({**META, "kind": "rollout"}), ("kind", "'rollout'", "'sample'")),
        (json.dumps({**META, "schema": 0}), ("schema", "0", "1")),
        (json.dumps({**META, "fingerprint": "f0", "describe": {"seed": 2, "at": {"top_p": 0.7}}}),
         ("'f0'", "'f1'", "seed 2 -> 1", "at.top_p 0.7 -> None")),
        (json.dumps({**META, "fingerprint": "f0", "describe": {str(n): 0 for n in range(4)}}),
         ("0 0 -> None", "2 more")),
    ],
)  # fmt: skip
def test_rows_of_another_run_or_of_nobody_are_refused(path: Path, meta: str | None, facts) -> None:
    with open_store(path, describe={"seed": 1}) as store:
        store.append({"id": "a"})
    if meta is None:
        meta_path(path).unlink()
    else:
        meta_path(path).write_text(meta, encoding="utf-8")
    with pytest.raises(StoreError) as caught:
        open_store(path, describe={"seed": 1}).__enter__()
    assert [f for f in ("samples.jsonl", *facts) if f not in str(caught.value)] == []
    assert list(read_records(path)) == [{"id": "a"}]
    # The lock is free again.
    meta_path(path).write_text(json.dumps(META), encoding="utf-8")
    with open_store(path) as store:
        assert store.keys("id") == {"a"}


@pytest.mark.parametrize("rest", [b"", b'{"id": "a', b'{"id": "a"}'])
def test_a_store_without_a_row_takes_other_settings(path: Path, rest: bytes) -> None:
    """A first start that failed leaves it, at most with a row that was cut."""
    fill(path, [])
    path.write_bytes(rest)
    meta_path(path).write_text(json.dumps({**META, "fingerprint": "f0"}), encoding="utf-8")
    with open_store(path) as store:
        assert len(store) == 0
        store.append({"id": "b"})
    assert read_meta(path)["fingerprint"] == "f1"
    assert list(read_records(path)) == [{"id": "b"}]


def test_a_store_that_is_not_open_or_open_already_or_no_store(path: Path) -> None:
    fill(path, [{"id": "a"}, {"name": "b"}])
    assert read_meta(path)["fingerprint"] == "f1"
    store = open_store(path)
    with pytest.raises(StoreError, match="not open"):
        store.append({"id": "a"})
    with store:
        with pytest.raises(StoreError, match="already open"):
            store.__enter__()
        with pytest.raises(StoreError, match=rf"pid {os.getpid()}\b"):
            open_store(path).__enter__()
        with pytest.raises(StoreError, match=r"line 2: no 'id' .*name"):
            store.keys("id")
    path.unlink()
    path.mkdir()
    with pytest.raises(StoreError, match=r"samples\.jsonl: cannot write"):
        open_store(path).__enter__()
    with pytest.raises(DataError, match=r"none\.jsonl: cannot read"):
        list(read_records(path / "none.jsonl"))


OsWrite = Callable[[int, Any], int]


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
