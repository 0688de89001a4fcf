"""Append-only, resumable JSONL stores. No torch here.

A store is three files: `<path>` (one JSON object a line), `<path>.meta.json` (which run the
rows belong to) and `<path>.lock` (locked while the store is open). A run may be killed at any
moment: every complete line stays readable, and the next run continues after the last one.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from filelock import BaseFileLock, FileLock, Timeout

from gatt.errors import DataError, StoreError
from gatt.runs.atomic_file import atomic_write_json, refused_write, sync_folder
from gatt.runs.input_file import read_json, scan_lines

T = TypeVar("T")

SCHEMA: Final = 1
FSYNC_SECONDS: Final = 5.0
"""A power cut loses at most the rows of so many seconds; a killed process loses none."""

_MOST_DIFFERENCES = 3
_WAY_OUT: Final = "choose another folder or delete it"


class RecordStore:
    """A JSONL file of one run, locked while open, to which rows are only appended.

    Use it in a `with` block. Threads may share it.
    """

    def __init__(
        self,
        path: Path,
        *,
        fingerprint: str,
        kind: str,
        describe: Mapping[str, Any] | None = None,
    ) -> None:
        """Name the store; no file is created before it is entered.

        Args:
            path: the JSONL file; its folder is created, too.
            fingerprint: hash of all settings that decide the rows.
            kind: what a row is, such as `sample`.
            describe: the settings that were hashed, so that an error can name those that differ.
        """
        self.path = path
        self.meta: Mapping[str, Any] = {
            "kind": kind,
            "schema": SCHEMA,
            "fingerprint": fingerprint,
            "describe": dict(describe or {}),
        }
        """The content of the meta file."""
        self._mutex = threading.Lock()
        self._fd: int | None = None
        self._lock: BaseFileLock | None = None
        self._end = 0
        self._num_records = 0
        self._synced_at = 0.0

    def __len__(self) -> int:
        return self._num_records

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return read_records(self.path)

    def __enter__(self) -> RecordStore:
        """Lock the store, check that it belongs to this run, and cut off an incomplete last line.

        Raises:
            StoreError: another process has it open; another fingerprint, kind or schema; a broken line
                before the last; or it cannot be written.
        """
        if self._fd is not None:
            raise StoreError(f"{self.path}: already open in this process: open a store once")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = take_lock(self.path)
            self._claim()
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            sync_folder(self.path.parent)
            self._end, self._num_records = 0, 0
            for line in scan_lines(self.path):
                if not line.is_terminated:
                    break
                self._end, self._num_records = line.end, self._num_records + 1
            if os.fstat(self._fd).st_size > self._end:
                os.ftruncate(self._fd, self._end)
                os.fsync(self._fd)
            self._synced_at = time.monotonic()
        except OSError as error:
            self._release()
            raise refused_write(self.path, error) from error
        except StoreError:
            self._release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Flush every row to the disk and release the store."""
        with self._mutex:
            assert self._fd is not None
            try:
                os.fsync(self._fd)
            except OSError as error:
                raise refused_write(self.path, error) from error
            finally:
                self._release()

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one complete line.

        Raises:
            StoreError: the store is not open, or the disk refuses (no space left): the file is cut back to
                its last complete line.
            TypeError: JSON has no form for a value.
            ValueError: a NaN or an infinity.
        """
        data = _encode(record)
        with self._mutex:
            if self._fd is None:
                raise StoreError(f"{self.path}: not open: append inside its `with` block")
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(self._fd, rest) :]
                if time.monotonic() - self._synced_at >= FSYNC_SECONDS:
                    os.fsync(self._fd)
                    self._synced_at = time.monotonic()
            except BaseException as error:
                # Also after an interrupt, which may come between two parts of a long line.
                os.ftruncate(self._fd, self._end)
                if isinstance(error, OSError):
                    raise refused_write(self.path, error) from error
                raise
            self._end += len(data)
            self._num_records += 1

    def keys(self, field: str) -> set[str]:
        """Return the values of a field over all rows, as strings; `StoreError` for a row without it."""
        keys = set()
        for line in scan_lines(self.path):
            if field not in line.record:
                raise StoreError(
                    f"{self.path} line {line.number}: no {field!r} (found keys: "
                    f"{', '.join(line.record) or 'none'}): delete the file to start over"
                )
            keys.add(str(line.record[field]))
        return keys

    def _claim(self) -> None:
        """Write the meta file, or check that it is the one of this run.

        A store without a row, as a first start that failed leaves it, belongs to nobody.
        """
        path = meta_path(self.path)
        is_empty = not self.path.exists() or not self.path.stat().st_size
        if not is_empty and not path.exists():
            raise StoreError(f"{self.path}: rows without {path.name}, expected both: {_WAY_OUT}")
        if is_empty or not any(line.is_terminated for line in scan_lines(self.path)):
            atomic_write_json(path, self.meta)
            return
        written = read_meta(self.path)
        for key in ("kind", "schema", "fingerprint"):
            if written.get(key) != self.meta[key]:
                raise StoreError(
                    f"{self.path}: belongs to another run: {key} {written.get(key)!r}, expected "
                    f"{self.meta[key]!r}{differences(written.get('describe'), self.meta['describe'])}: "
                    f"{_WAY_OUT}"
                )

    def _release(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
        if self._lock is not None:
            self._lock.release()
        self._fd = self._lock = None


def meta_path(path: Path) -> Path:
    """Return the path of a store's meta file: `<path>.meta.json`."""
    return path.with_name(f"{path.name}.meta.json")


def read_meta(path: Path) -> dict[str, Any]:
    """Return the content of a store's meta file: kind, schema, fingerprint and description.

    Raises:
        StoreError: no such file, one that cannot be read, or broken JSON.
    """
    place = meta_path(path)
    try:
        meta = read_json(place)
    except OSError as error:
        raise StoreError(
            f"{place}: cannot read: {error.strerror}: expected it beside the rows"
        ) from None
    except ValueError:
        meta = None
    if not isinstance(meta, dict):
        raise StoreError(f"{place}: broken JSON, expected the store's description: {_WAY_OUT}")
    return meta


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a JSONL file without locking it.

    An incomplete last line is skipped: a killed run leaves one, and a running one is about to
    complete it. A whole object without its newline is a row.

    Raises:
        DataError: the file cannot be read, or has a broken line.
    """
    return (row for _, row in parsed_records(path, lambda _, record: record, is_whole=False))


def parsed_records(
    path: Path, parse: Callable[[int, dict[str, Any]], T], *, is_whole: bool
) -> Iterator[tuple[int, T]]:
    """Yield the line number, from 1, and the parsed object of each row; blank lines count.

    Args:
        path: the file.
        parse: takes line number and object; raises `DataError` for an object that breaks its contract.
        is_whole: whether a broken last line is a mistake; else a killed run may have left it.

    Raises:
        DataError: the file cannot be read, a line is broken, or an error of `parse`; names the line.
    """
    try:
        for line in scan_lines(path, allow_broken_end=False, allow_torn_end=not is_whole):
            try:
                parsed = parse(line.number, line.record)
            except DataError as error:
                raise DataError(f"{path} line {line.number}: {error}") from None
            yield line.number, parsed
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}: check the path") from None
    except StoreError as error:
        raise DataError(str(error)) from None


def _encode(record: Mapping[str, Any]) -> bytes:
    line = dict(record)
    try:
        text = json.dumps(line, ensure_ascii=False, allow_nan=False)
        return text.encode("utf-8") + b"\n"
    except UnicodeEncodeError:
        # Half of a surrogate pair, which a byte-level tokenizer may produce, has no UTF-8 form.
        return json.dumps(line, allow_nan=False).encode("ascii") + b"\n"


def differences(before: object, expected: object) -> str:
    """Return the dotted keys that differ between two descriptions, as a part of an error message.

    Only the first few are shown; the text is empty where none differs.
    """
    old, new = _flat(before, ""), _flat(expected, "")
    keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    shown = [f"{key} {old.get(key)!r} -> {new.get(key)!r}" for key in keys[:_MOST_DIFFERENCES]]
    rest = f" and {len(keys) - len(shown)} more" if len(keys) > len(shown) else ""
    return f" (changed: {', '.join(shown)}{rest})" if shown else ""


def _flat(value: object, prefix: str) -> dict[str, object]:
    if not isinstance(value, Mapping):
        return {prefix[:-1]: value}
    return {k: v for key, item in value.items() for k, v in _flat(item, f"{prefix}{key}.").items()}


def lock_path(path: Path) -> Path:
    """Return the path of the lock file of a path: `<path>.lock`."""
    return path.with_name(f"{path.name}.lock")


def take_lock(path: Path) -> BaseFileLock:
    """Lock a path and return the lock; `release` frees it, as does the end of the process.

    The lock file holds the host and the process id of the holder.

    Raises:
        StoreError: another process holds it; its host and id are named where they are known.
        OSError: the lock file cannot be written, or the file system has no locks.
    """
    beside = lock_path(path)
    if not beside.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(beside.parent))
    lock = FileLock(beside, blocking=False, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout:
        raise StoreError(
            f"{path}: is in use by another process ({_holder(beside)}): wait for it or end it"
        ) from None
    # On a full disk the lock holds, only the name of the holder is missing.
    with contextlib.suppress(OSError):
        beside.write_text(f"host {platform.node()}, pid {os.getpid()}\n", encoding="utf-8")
    return lock


def _holder(beside: Path) -> str:
    try:
        return beside.read_text(encoding="utf-8").strip() or "unknown"
    except (OSError, UnicodeDecodeError):
        return "unknown"
