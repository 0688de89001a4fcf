"""Drafts: what is filled beside its place under a hidden name, and who fills it. No torch here.

A draft is locked for as long as its process fills it, so what is found without a lock was left behind
by one that was killed. A folder is locked while a draft in it is made or looked for: between the making
of a draft and its lock it would look left behind.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from filelock import lock_descriptor

DRAFT: Final = ".tmp"
"""Ending of the name of every draft."""
_POLL_SECONDS: Final = 0.01


@contextlib.contextmanager
def making_draft(
    left_behind: Iterable[Path], folder: Path, remove: Callable[[Path], None]
) -> Iterator[None]:
    """Hold a folder while a draft in it is made and locked; first remove what killed processes left there.

    A file system without locks tells nobody's drafts from others': nothing is removed there.

    Args:
        left_behind: drafts of the same place; looked for under the lock.
        folder: in which they stand.
        remove: takes one away.
    """
    beside = locked(folder, waits=True)
    try:
        for draft in left_behind if beside is not None else ():
            lock = locked(draft)
            if lock is not None:
                with contextlib.suppress(OSError):
                    remove(draft)
                free(lock)
        yield
    finally:
        free(beside)


def locked(path: Path, *, waits: bool = False) -> int | None:
    """Return the descriptor of a file or folder that is ours until it is closed; None where it is another's.

    A file system without locks gives none.
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
