"""Files that appear whole or not at all; see `gatt.runs.atomic_folder` for folders. No torch here."""

from __future__ import annotations

import contextlib
import errno
import glob
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from filelock import lock_descriptor

from gatt.errors import StoreError
from gatt.runs.drafts import DRAFT, making_draft

NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)
"""What a full disk says."""


@contextlib.contextmanager
def atomic_stream(path: Path) -> Iterator[BinaryIO]:
    """Open a file to write that takes its place at the end: no reader ever sees half of it.

    If the block raises, the old file stays. A link stays one, and what it leads to is
    written; a device or a pipe is written as it goes, and a pipe that nobody reads is
    refused. What a killed process left behind of the same file goes.

    Raises:
        StoreError: the file cannot be written.
    """
    if path.is_symlink():
        path = Path(os.path.realpath(path))
    if path.is_dir():
        raise StoreError(f"{path}: is a folder: expected a file")
    if path.exists() and not path.is_file():
        try:
            with open(path, "wb", opener=_opened) as stream:
                yield stream
        except OSError as error:
            raise refused_write(path, error) from error
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}{DRAFT}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with making_draft(_drafts(path), path.parent, Path.unlink):
            # It keeps its lock until it has its place.
            stream = draft.open("wb")
            with contextlib.suppress(OSError):
                lock_descriptor(stream.fileno(), blocking=False)
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            draft.replace(path)
        sync_folder(path.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        if isinstance(error, OSError):
            raise refused_write(path, error) from error
        raise


def _opened(path: str, flags: int) -> int:
    # Waiting, `open` would not come back before somebody else reads a pipe.
    fd = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(fd, True)
    return fd


def _drafts(path: Path) -> Iterator[Path]:
    # Named by the process: `.NAME.old.tmp` is somebody else's.
    pattern = f"{glob.escape(f'.{path.name}.')}[0-9]*{DRAFT}"
    for draft in path.parent.glob(pattern):
        if draft.name[len(path.name) + 2 : -len(DRAFT)].isdecimal():
            yield draft


def atomic_write_text(path: Path, text: str) -> None:
    """Write a whole file or leave the old one.

    Raises:
        StoreError: the file cannot be written.
    """
    data = text.encode()
    with atomic_stream(path) as stream:
        stream.write(data)


def atomic_write_json(path: Path, value: object) -> None:
    """Write a value as indented JSON, whole or not at all.

    Raises:
        StoreError: the file cannot be written.
        TypeError: a value that JSON does not take.
        ValueError: a NaN or an infinity.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    atomic_write_text(path, f"{text}\n")


def refuse_unwritable(path: Path) -> None:
    """Refuse a file that cannot be written, before the work is done whose outcome it is to hold.

    Nothing is made or opened; a disk may still refuse later.

    Raises:
        StoreError: it is a folder, stands below a file, or rights are missing.
    """
    if path.is_dir():
        raise StoreError(f"{path}: is a folder: expected a file")
    there = next(p for p in (path, *path.absolute().parents) if p.exists())
    if there != path and not there.is_dir():
        raise StoreError(f"{path}: cannot write: {there} is a file: mend the path")
    if not os.access(there, os.W_OK):
        raise StoreError(
            f"{path}: cannot write: no right to write {there}: mend the path or its rights"
        )


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk: after a power cut a new file may have none."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def refused_write(path: Path, error: OSError) -> StoreError:
    """Return the error of a file that the disk does not take."""
    if error.errno in NO_SPACE:
        return StoreError(
            f"{path}: no space left on its device: what was written stays valid, free some space "
            "and start again"
        )
    return StoreError(
        f"{path}: cannot write: {error.strerror}: what was written stays valid, mend it and "
        "start again"
    )
