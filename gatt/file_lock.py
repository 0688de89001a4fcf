"""An exclusive lock beside a path; it frees itself when its process ends. No torch here."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from gatt.errors import StoreError


def lock_path(path: Path) -> Path:
    """Return where the lock of a path stands: `<path>.lock`."""
    return path.with_name(f"{path.name}.lock")


def take_lock(path: Path) -> int:
    """Return the descriptor of the lock file, which holds our process id.

    Closing it frees the lock, as does the end of the process, however it ends.

    Raises:
        StoreError: another process holds it; its id is named.
        OSError: the file cannot be written, or its file system has no locks.
    """
    beside = lock_path(path)
    while True:
        fd = os.open(beside, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_still(fd, beside):
                os.ftruncate(fd, 0)
                os.write(fd, f"{os.getpid()}\n".encode())
                return fd
        except BlockingIOError:
            holder = os.read(fd, 32).decode("ascii", "replace").strip() or "unknown"
            os.close(fd)
            raise StoreError(
                f"{path}: is in use by another process (pid {holder}): wait for it or end it"
            ) from None
        except OSError:
            os.close(fd)
            raise
        os.close(fd)


def free_lock(fd: int) -> None:
    """Free a lock, also where a forked process still has its descriptor."""
    fcntl.flock(fd, fcntl.LOCK_UN)
    os.close(fd)


def _is_still(fd: int, path: Path) -> bool:
    """Whether the file that was locked is the one under this name: its last holder may remove it."""
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False
