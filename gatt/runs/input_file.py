"""Reading files that a user names: no endless wait, no endless text, no endless nesting. No torch here.

Python walks nested values by recursion and stops at about a thousand frames, wherever it happens to
be. Deep values are refused here, where they are read, so that no other code has to check.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

MOST_TEXT_BYTES: Final = 64 * 2**20
"""Of a file that is read whole as text."""
MOST_LEVELS: Final = 100
"""Lists and mappings within each other."""
TOO_DEEP: Final = f"nested more than {MOST_LEVELS} levels deep"


def open_bytes(path: Path) -> BufferedReader:
    """Open a file for reading; a pipe without a writer is an empty file.

    Raises:
        OSError: it cannot be read, or is a device.
    """
    return open(path, "rb", opener=_opened)


def read_text(path: Path, *, most_bytes: int = MOST_TEXT_BYTES) -> str:
    """Return the text of a file, without a byte-order mark.

    Raises:
        OSError: see `open_bytes`; also for a file of more than `most_bytes`.
        UnicodeDecodeError: not UTF-8.
    """
    with open_bytes(path) as stream:
        data = stream.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(errno.EFBIG, f"larger than {most_bytes:,} bytes", str(path))
    return data.decode("utf-8-sig")


def read_json(path: Path) -> Any:
    """Return the value of a JSON file.

    Raises:
        OSError: see `read_text`.
        ValueError: not UTF-8, or see `parse_json`.
    """
    return parse_json(read_text(path))


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        json.JSONDecodeError: not JSON, nested more than `MOST_LEVELS` levels deep, or a number of
            thousands of digits.
        UnicodeDecodeError: bytes that are not UTF-8.
    """
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except RecursionError:
        raise json.JSONDecodeError(TOO_DEEP, "", 0) from None
    except ValueError as error:
        raise json.JSONDecodeError(str(error), "", 0) from None
    if is_too_deep(value):
        raise json.JSONDecodeError(TOO_DEEP, "", 0)
    return value


def is_too_deep(value: object) -> bool:
    """Whether lists and mappings are nested more than `MOST_LEVELS` levels deep."""
    level = [value]
    for _ in range(MOST_LEVELS + 1):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _opened(path: str, flags: int) -> int:
    # A blocking `open` of a pipe waits for a writer.
    fd = os.open(path, flags | os.O_NONBLOCK)
    if stat.S_ISCHR(os.fstat(fd).st_mode) or stat.S_ISBLK(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "a device, not a file", path)
    os.set_blocking(fd, True)
    return fd
