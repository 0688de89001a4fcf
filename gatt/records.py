"""Append-only, resumable JSONL stores. No torch here.

A store is three files: `<path>` (one JSON object a line), `<path>.meta.json`
(what the rows belong to) and `<path>.lock` (held while open). Whatever moment a
run is killed at, every complete line stays readable and the next run goes on
behind it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeVar

from gatt.errors import DataError, StoreError
from gatt.file_lock import take_lock

T = TypeVar("T")

SCHEMA: Final = 1

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_MOST_DIFFERENCES = 3
_WAY_OUT: Final = "choose another folder or delete it"


class RecordStore:
    """An exclusive, fingerprinted JSONL file that is only ever appended to.

    Use it in a `with` block, or `open` and `close` it. Threads may share it.
    """

    def __init__(
        self,
        path: Path,
        *,
        fingerprint: str,
        kind: str,
        fsync_seconds: float = 5.0,
        describe: Mapping[str, Any] | None = None,
    ) -> None:
        """Name the store; nothing is touched before it is opened.

        Args:
            path: the JSONL file; its folder is made on opening.
            fingerprint: of all that decides what the rows are.
            kind: what a row is, such as `sample`.
            fsync_seconds: the longest time for which appended rows may be lost
                by a power cut (a killed process loses none).
            describe: what was fingerprinted, as JSON takes it; lets an error
                name the keys that differ.
        """
        self.path = path
        self.repaired = False
        """Whether opening cut off a torn last line."""
        self._meta = {
            "kind": kind,
            "schema": SCHEMA,
            "fingerprint": fingerprint,
            "describe": dict(describe or {}),
        }
        self._fsync_seconds = fsync_seconds
        self._mutex = threading.Lock()
        self._fd: int | None = None
        self._lock_fd: int | None = None
        self._end = 0
        self._num_records = 0
        self._synced_at = 0.0

    def __enter__(self) -> RecordStore:
        self.open()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return self._num_records

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return read_records(self.path)

    def open(self) -> None:
        """Lock the store, check whose it is, and cut off a torn last line.

        Raises:
            StoreError: in use by another process, of another fingerprint, kind
                or schema, a broken line before the last, or not writable.
        """
        if self._fd is not None:
            raise StoreError(f"{self.path}: already open in this process: open a store once")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock_fd = take_lock(self.path)
            self._claim()
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            self._end, self._num_records = 0, 0
            for line in _scan(self.path):
                if not line.is_terminated:
                    break
                self._end, self._num_records = line.end, self._num_records + 1
            self.repaired = os.fstat(self._fd).st_size > self._end
            if self.repaired:
                os.ftruncate(self._fd, self._end)
                os.fsync(self._fd)
            self._synced_at = time.monotonic()
        except OSError as error:
            self._release()
            raise _refused(self.path, error) from error
        except StoreError:
            self._release()
            raise

    def close(self) -> None:
        """Bring every row to the disk and release the store; closing twice is fine."""
        with self._mutex:
            if self._fd is None:
                return
            try:
                os.fsync(self._fd)
            except OSError as error:
                raise _refused(self.path, error) from error
            finally:
                self._release()

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one complete line.

        Raises:
            StoreError: the store is not open, or the disk refuses (no space
                left): the file is cut back to its last complete line.
            TypeError: the record has a value that JSON does not take.
            ValueError: the record has a NaN or an infinity.
        """
        data = _encode(record)
        with self._mutex:
            if self._fd is None:
                raise StoreError(f"{self.path}: not open: append inside its `with` block")
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(self._fd, rest) :]
                if time.monotonic() - self._synced_at >= self._fsync_seconds:
                    os.fsync(self._fd)
                    self._synced_at = time.monotonic()
            except BaseException as error:
                # An interrupt between two parts of a long line would tear it as well.
                os.ftruncate(self._fd, self._end)
                if isinstance(error, OSError):
                    raise _refused(self.path, error) from error
                raise
            self._end += len(data)
            self._num_records += 1

    def keys(self, field: str) -> set[str]:
        """Return the values of a field over all rows, as strings.

        Raises:
            StoreError: a row without the field.
        """
        found = set()
        for line in _scan(self.path):
            if field not in line.record:
                raise StoreError(
                    f"{self.path} line {line.number}: no {field!r} (found keys: "
                    f"{', '.join(line.record) or 'none'}): delete the file to start over"
                )
            found.add(str(line.record[field]))
        return found

    def _claim(self) -> None:
        """Write the meta file, or check that the one there is ours."""
        path = _beside(self.path, "meta.json")
        if not path.exists():
            if self.path.exists() and self.path.stat().st_size:
                raise StoreError(
                    f"{self.path}: rows without {path.name}, expected both: {_WAY_OUT}"
                )
            atomic_write_json(path, self._meta)
            return
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise StoreError(f"{path}: broken JSON, expected the store's description: {_WAY_OUT}")
        for key in ("kind", "schema", "fingerprint"):
            if found.get(key) != self._meta[key]:
                raise StoreError(
                    f"{self.path}: belongs to another run: {key} {found.get(key)!r}, expected "
                    f"{self._meta[key]!r}{_differences(found, self._meta)}: {_WAY_OUT}"
                )

    def _release(self) -> None:
        for fd in (self._fd, self._lock_fd):
            if fd is not None:
                os.close(fd)
        self._fd = self._lock_fd = None


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a JSONL file without locking it.

    A torn last line (without its newline) is what a killed run leaves and a
    running one is about to complete: it is passed over. A whole object without
    its newline is a row.

    Raises:
        StoreError: the file cannot be read, or has a broken line.
    """
    try:
        for line in _scan(path, allow_broken_end=False):
            yield line.record
    except OSError as error:
        raise StoreError(f"{path}: cannot read: {error.strerror}") from error


def numbered_records(path: Path, *, is_whole: bool) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line number, from 1, and object of each row of a JSONL file; blank lines count.

    Args:
        path: the file.
        is_whole: whether somebody wrote it as a whole, so that a broken last
            line is a mistake, and not what a killed run left.

    Raises:
        DataError: with the line, for a file that cannot be read or a broken line.
    """
    try:
        for line in _scan(path, allow_broken_end=False, allow_torn_end=not is_whole):
            yield line.number, line.record
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}: check the path") from None
    except StoreError as error:
        raise DataError(str(error)) from None


def parsed_records(
    path: Path, parse: Callable[[int, dict[str, Any]], T], *, is_whole: bool
) -> Iterator[tuple[int, T]]:
    """Yield line number and what `parse` makes of number and object of each row.

    Args:
        path: the file.
        parse: raises `DataError` for an object that breaks its contract.
        is_whole: see `numbered_records`.

    Raises:
        DataError: as `numbered_records`, or what `parse` raised, with file and line.
    """
    for number, record in numbered_records(path, is_whole=is_whole):
        try:
            found = parse(number, record)
        except DataError as error:
            raise DataError(f"{path} line {number}: {error}") from None
        yield number, found


def atomic_write_text(path: Path, text: str) -> None:
    """Write a whole file or leave the old one: no reader ever sees half of it.

    Raises:
        StoreError: the file cannot be written.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise _refused(path, error) from error


def atomic_write_json(path: Path, value: object) -> None:
    """Write a value as indented JSON, whole or not at all.

    Raises:
        StoreError: the file cannot be written.
        TypeError: a value that JSON does not take.
        ValueError: a NaN or an infinity.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    atomic_write_text(path, f"{text}\n")


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    end: int
    """Offset behind its newline, in bytes."""
    is_terminated: bool
    record: dict[str, Any]


def _scan(
    path: Path, *, allow_broken_end: bool = True, allow_torn_end: bool = True
) -> Iterator[_Line]:
    """Yield the complete rows; blank lines and a torn last line are passed over.

    With `allow_broken_end` a broken last line counts as torn even with its
    newline: a power cut can leave a page of the file unwritten. Without
    `allow_torn_end` no line is passed over.
    """
    end = 0
    with path.open("rb") as stream:
        for number, data in enumerate(stream, start=1):
            end += len(data)
            if not data.strip():
                continue
            try:
                # Some editors begin a file with a byte-order mark.
                record = json.loads(data.decode("utf-8-sig" if number == 1 else "utf-8"))
                problem = "" if isinstance(record, dict) else f"found {type(record).__name__}"
            except json.JSONDecodeError as error:
                problem = f"broken JSON ({error.msg}, column {error.colno})"
            except ValueError as error:
                problem = f"broken JSON ({error})"
            is_terminated = data.endswith(b"\n")
            can_be_torn = allow_broken_end or (allow_torn_end and not is_terminated)
            if problem and can_be_torn and not stream.peek(1):
                return
            if problem:
                raise StoreError(
                    f"{path} line {number}: {problem}, expected one JSON object a line: mend or "
                    "delete the line"
                )
            yield _Line(number, end, is_terminated, record)


def _encode(record: Mapping[str, Any]) -> bytes:
    line = dict(record)
    try:
        text = json.dumps(line, ensure_ascii=False, allow_nan=False)
        return text.encode("utf-8") + b"\n"
    except UnicodeEncodeError:
        # Half of a surrogate pair, as byte-level tokenizers produce, has no UTF-8 form.
        return json.dumps(line, allow_nan=False).encode("ascii") + b"\n"


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(f"{path.name}.{suffix}")


def _refused(path: Path, error: OSError) -> StoreError:
    if error.errno in _NO_SPACE:
        return StoreError(
            f"{path}: no space left on its device: what was written stays valid, free some space "
            "and start again"
        )
    return StoreError(
        f"{path}: cannot write: {error.strerror}: what was written stays valid, mend it and "
        "start again"
    )


def _differences(found: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    """Return the described keys that differ, a few of them."""
    old, new = _flat(found.get("describe"), ""), _flat(expected["describe"], "")
    keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    shown = [f"{key} {old.get(key)!r} -> {new.get(key)!r}" for key in keys[:_MOST_DIFFERENCES]]
    more = f" and {len(keys) - len(shown)} more" if len(keys) > len(shown) else ""
    return f" (changed: {', '.join(shown)}{more})" if shown else ""


def _flat(value: object, prefix: str) -> dict[str, object]:
    if not isinstance(value, Mapping):
        return {prefix[:-1]: value}
    return {k: v for key, item in value.items() for k, v in _flat(item, f"{prefix}{key}.").items()}
