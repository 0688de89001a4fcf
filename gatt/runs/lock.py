"""An exclusive lock of a path, which the end of its process frees. No torch here."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from gatt.errors import StoreError


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
