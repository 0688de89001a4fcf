"""Files that appear whole or not at all; `gatt.runs.atomic_folder` does the same for folders. No torch here.

A draft is filled beside its place under a hidden name, and is locked while its process fills it. So a
draft without a lock was left behind by a killed process, and the next writer removes it. Between the
making of a draft and its lock it would look left behind: the folder around it is locked meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from filelock import lock_descriptor

from gatt.errors import StoreError

NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)
"""Error numbers of a full disk or quota."""
DRAFT: Final = ".tmp"
"""Ending of the name of every draft."""
_POLL_SECONDS: Final = 0.01


@contextlib.contextmanager
def atomic_stream(path: Path) -> Iterator[BinaryIO]:
    """Yield a stream whose content replaces the file when the block ends: no reader sees half of it.

    If the block raises, the old file stays. A link stays a link, and its target is written. A device
    or a pipe is written directly; a pipe without a reader is refused.

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
            # The lock is held until the draft has replaced the file.
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
    # A blocking `open` of a pipe waits for a reader.
    fd = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(fd, True)
    return fd


def _drafts(path: Path) -> Iterator[Path]:
    # A process id is the only part between: `.NAME.old.tmp` is not ours.
    pattern = f"{glob.escape(f'.{path.name}.')}[0-9]*{DRAFT}"
    for draft in path.parent.glob(pattern):
        if draft.name[len(path.name) + 2 : -len(DRAFT)].isdecimal():
            yield draft


@contextlib.contextmanager
def making_draft(
    candidates: Iterable[Path], folder: Path, remove: Callable[[Path], None]
) -> Iterator[None]:
    """Lock a folder while a draft in it is made and locked; first remove drafts without a lock.

    Where the file system has no locks nothing is removed.

    Args:
        candidates: drafts of the same place; listed under the lock.
        folder: in which they stand.
        remove: deletes one.
    """
    around = locked(folder, waits=True)
    try:
        for draft in candidates if around is not None else ():
            lock = locked(draft)
            if lock is not None:
                with contextlib.suppress(OSError):
                    remove(draft)
                free(lock)
        yield
    finally:
        free(around)


def locked(path: Path, *, waits: bool = False) -> int | None:
    """Return a descriptor that holds the lock of a file or folder until it is closed.

    None where another process holds it, or the file system has no locks.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with contextlib.suppress(OSError):
        if lock_descriptor(fd, blocking=waits, poll_interval=_POLL_SECONDS):
            return fd
    os.close(fd)
    return None


def free(lock: int | None) -> None:
    """Close the descriptor of `locked`."""
    if lock is not None:
        os.close(lock)


def atomic_write_text(path: Path, text: str) -> None:
    """Replace a file by a text, or leave the old one.

    Raises:
        StoreError: the file cannot be written.
    """
    data = text.encode()
    with atomic_stream(path) as stream:
        stream.write(data)


def atomic_write_json(path: Path, value: object) -> None:
    """Replace a file by a value as indented JSON, or leave the old one.

    Raises:
        StoreError: the file cannot be written.
        TypeError: JSON has no form for the value.
        ValueError: a NaN or an infinity.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    atomic_write_text(path, f"{text}\n")


def refuse_unwritable(path: Path) -> None:
    """Raise where a file cannot be written, so that a run stops before its work and not after it.

    Nothing is created or opened, and a full disk is not noticed.

    Raises:
        StoreError: it is a folder, stands below a file, or rights are missing.
    """
    if path.is_dir():
        raise StoreError(f"{path}: is a folder: expected a file")
    existing = next(p for p in (path, *path.absolute().parents) if p.exists())
    if existing != path and not existing.is_dir():
        raise StoreError(f"{path}: cannot write: {existing} is a file: mend the path")
    if not os.access(existing, os.W_OK):
        raise StoreError(
            f"{path}: cannot write: no right to write {existing}: mend the path or its rights"
        )


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to the disk, so that a new file survives a power cut."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def refused_write(path: Path, error: OSError) -> StoreError:
    """Return the error for a write that the system refused."""
    if error.errno in NO_SPACE:
        why, what = "no space left on its device", "free some space"
    else:
        why, what = f"cannot write: {error.strerror}", "mend it"
    return StoreError(f"{path}: {why}: what was written stays valid, {what} and start again")
