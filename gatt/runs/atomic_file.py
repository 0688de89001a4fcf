"""Files and folders that appear whole or not at all. No torch here.

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
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from filelock import lock_descriptor
from safetensors import SafetensorError

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
    or a pipe is written directly. Raises `StoreError` where it cannot be written.
    """
    if path.is_symlink():
        path = Path(os.path.realpath(path))
    if path.is_dir():
        raise StoreError(f"{path}: is a folder: expected a file")
    if path.exists() and not path.is_file():
        try:
            with path.open("wb") as stream:
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
    """Lock a folder while a draft in it is made and locked; first `remove` each of the drafts without a lock.

    `candidates` are drafts of the same place; they are listed under the lock. Where the file system has no
    locks nothing is removed.
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
    """Replace a file by a text, or leave the old one; raises `StoreError` where it cannot be written."""
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


@contextlib.contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder that becomes `target` when the block ends: no reader sees half of it.

    Raises:
        StoreError: the target exists already, or the disk refuses.
    """
    draft: Path | None = None
    try:
        # `exists` is false for a dangling link.
        if target.exists() or target.is_symlink():
            raise StoreError(f"{target}: exists already: give a new folder, or move it away")
        with draft_of(target) as draft:
            yield draft
            _settle(draft)
            draft.rename(target)
    except (OSError, SafetensorError) as error:
        raise _refused(error, target, draft) from error


@contextlib.contextmanager
def draft_of(target: Path) -> Iterator[Path]:
    """Yield an empty folder with a hidden name beside `target`, to be filled and renamed.

    It is deleted when the block ends, unless it was renamed. Drafts that killed processes left are
    deleted first.

    Raises:
        OSError: the disk refuses.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    # As many letters as `mkdtemp` draws: `.NAME.old.tmp` is not ours.
    left = target.parent.glob(f"{glob.escape(f'.{target.name}.')}{'?' * 8}{DRAFT}")
    with making_draft(left, target.parent, shutil.rmtree):
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=DRAFT, dir=target.parent))
        lock = locked(draft)
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        free(lock)


def _settle(folder: Path) -> None:
    """Make a draft readable for others, and flush it to the disk."""
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        if path.is_symlink():
            # Its target may stand outside of the folder.
            continue
        path.chmod(0o755 if path.is_dir() else 0o644)
        if path.is_file():
            with path.open("rb") as stream:
                os.fsync(stream.fileno())


def _refused(error: Exception, target: Path, draft: Path | None) -> StoreError:
    name, what = getattr(error, "filename", None), "write"
    if name is not None and draft is not None and not str(name).startswith(str(draft)):
        # The block failed to read a file elsewhere.
        target, what = Path(name), "read"
    said = " ".join(str(error).split())
    # safetensors reports a full disk as an error of its own.
    is_full = isinstance(error, OSError) and error.errno in NO_SPACE
    if is_full or "No space left" in said:
        return StoreError(f"{target}: no space left on its device: free some space and start again")
    reason = (isinstance(error, OSError) and error.strerror) or said
    return StoreError(f"{target}: cannot {what}: {reason}: mend it and start again")
