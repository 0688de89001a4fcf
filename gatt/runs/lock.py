"""An exclusive lock beside a path; it frees itself when its process ends. No torch here."""

from __future__ import annotations

import fcntl
import logging
import os
import time
from pathlib import Path
from typing import Final

from gatt.errors import StoreError

log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 0.02
"""Longer than `lock_note` holds a lock that nobody has."""


def lock_path(path: Path) -> Path:
    """Return where the lock of a path stands: `<path>.lock`."""
    return path.with_name(f"{path.name}.lock")


def take_lock(path: Path, *, waits: bool = False) -> int:
    """Return the descriptor of the lock file, which holds our process id.

    Closing it frees the lock, as does the end of the process, however it ends.

    Args:
        path: what is locked; the lock stands beside it.
        waits: whether to wait for another holder instead of refusing.

    Raises:
        StoreError: another process holds it; its id is named.
        OSError: the file cannot be written, or its file system has no locks.
    """
    beside = lock_path(path)
    while True:
        fd = os.open(beside, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(fd, path, waits)
            if _is_still(fd, beside):
                write_note(fd, "")
                return fd
        except BlockingIOError:
            holder = _holder(fd)
            os.close(fd)
            raise StoreError(
                f"{path}: is in use by another process (pid {holder}): wait for it or end it"
            ) from None
        except OSError:
            os.close(fd)
            raise
        os.close(fd)


def write_note(fd: int, note: str) -> None:
    """Write our process id into a lock that we hold, and a line for whoever looks at it."""
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"{os.getpid()}\n{note}".encode(), 0)


def lock_note(path: Path) -> tuple[bool, str]:
    """Return whether somebody holds the lock of a path, and what its last holder wrote there.

    The first line is the holder's process id, the second its note. Empty where
    nobody ever held it.

    Raises:
        OSError: the file cannot be read, or its file system has no locks.
    """
    try:
        fd = os.open(lock_path(path), os.O_RDONLY)
    except FileNotFoundError:
        return False, ""
    try:
        note = os.pread(fd, 4096, 0).decode("utf-8", "replace")
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True, note
    else:
        return False, note
    finally:
        os.close(fd)


def free_lock(fd: int) -> None:
    """Free a lock, also where a forked process still has its descriptor."""
    fcntl.flock(fd, fcntl.LOCK_UN)
    os.close(fd)


def _lock(fd: int, path: Path, waits: bool) -> None:
    """Lock a descriptor; somebody who only looks is waited for in any case."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        time.sleep(_LOOK_SECONDS)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not waits:
                raise
            log.warning("%s: waiting for another process (pid %s) to finish it", path, _holder(fd))
            fcntl.flock(fd, fcntl.LOCK_EX)


def _holder(fd: int) -> str:
    return os.pread(fd, 4096, 0).decode("utf-8", "replace").partition("\n")[0] or "unknown"


def _is_still(fd: int, path: Path) -> bool:
    """Whether the file that was locked is the one under this name: its last holder may remove it."""
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False
