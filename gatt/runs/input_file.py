"""Reading what a user names: no wait for a pipe that nobody fills, no device without end. No torch here."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import Final

MOST_TEXT_BYTES: Final = 64 * 2**20
"""Of a file that is read whole as text."""


def open_bytes(path: Path) -> BufferedReader:
    """Open a file for reading; a pipe that nobody has open for writing is an empty file.

    Raises:
        OSError: it cannot be read, or is a device.
    """
    return open(path, "rb", opener=_opened)


def read_text(path: Path, *, most_bytes: int = MOST_TEXT_BYTES) -> str:
    """Return the text of a file, without the byte-order mark with which some editors begin it.

    Raises:
        OSError: see `open_bytes`; it is also raised for more than `most_bytes`.
        UnicodeDecodeError: no UTF-8.
    """
    with open_bytes(path) as stream:
        data = stream.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(errno.EFBIG, f"larger than {most_bytes:,} bytes", str(path))
    return data.decode("utf-8-sig")


def _opened(path: str, flags: int) -> int:
    # Waiting, `open` would not come back before somebody else opens a pipe.
    fd = os.open(path, flags | os.O_NONBLOCK)
    if stat.S_ISCHR(os.fstat(fd).st_mode) or stat.S_ISBLK(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "a device, no file", path)
    os.set_blocking(fd, True)
    return fd
