"""Reading files that a user names: text, JSON and JSON lines, packed or not. No torch here."""

from __future__ import annotations

import contextlib
import errno
import gzip
import json
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

from gatt.errors import StoreError

MOST_TEXT_BYTES: Final = 64 * 2**20
"""Of a file that is read whole as text."""


def read_text(path: Path, *, most_bytes: int = MOST_TEXT_BYTES) -> str:
    """Return the text of a file, without a byte-order mark.

    Raises:
        OSError: it cannot be read, or has more than `most_bytes`.
        UnicodeDecodeError: not UTF-8.
    """
    with path.open("rb") as stream:
        data = stream.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(errno.EFBIG, f"larger than {most_bytes:,} bytes", str(path))
    return data.decode("utf-8-sig")


def read_json(path: Path) -> Any:
    """Return the value of a JSON file; raises `OSError` as `read_text` and `ValueError` as `parse_json`."""
    return parse_json(read_text(path))


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        json.JSONDecodeError: not JSON, nested too deep, or a number of thousands of digits.
        UnicodeDecodeError: bytes that are not UTF-8.
    """
    try:
        return json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except (RecursionError, ValueError) as error:
        raise json.JSONDecodeError(str(error), "", 0) from None


COMPRESSED: Final[Mapping[str, Callable[..., Any]]] = {".gz": gzip.open, ".xz": lzma.open}
"""Name endings of files that are decompressed while they are read, and what opens them."""
MOST_LINE_BYTES: Final = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a file, and its place."""

    number: int
    """From 1; blank lines count."""
    end: int
    """Offset after its newline, in bytes of the decompressed text."""
    is_terminated: bool
    record: dict[str, Any]


def scan_lines(
    path: Path, *, allow_broken_end: bool = True, allow_torn_end: bool = True
) -> Iterator[Line]:
    """Yield the complete rows; blank lines are skipped, and so is an incomplete last line.

    Args:
        path: the file; one whose name ends in one of `COMPRESSED` is decompressed.
        allow_broken_end: skip a broken last line that has its newline, too: a power cut can leave a
            page of the file unwritten.
        allow_torn_end: False makes an incomplete last line an error.

    Raises:
        StoreError: a line is no JSON object (the line is named), or a compressed file is damaged.
        OSError: the file cannot be read.
    """
    end = 0
    with open_text(path) as stream:
        # A few kilobytes of xz may expand to a line of gigabytes.
        lines = iter(partial(stream.readline, MOST_LINE_BYTES + 1), b"")
        for number, data in enumerate(lines, start=1):
            if len(data) > MOST_LINE_BYTES:
                raise StoreError(
                    f"{path} line {number}: longer than {MOST_LINE_BYTES:,} bytes: expected one JSON object "
                    "a line"
                )
            end += len(data)
            if not data.strip():
                continue
            try:
                # Some editors begin a file with a byte-order mark.
                record = json.loads(data.decode("utf-8-sig" if number == 1 else "utf-8"))
                problem = "" if isinstance(record, dict) else f"found {type(record).__name__}"
            except json.JSONDecodeError as error:
                problem = f"broken JSON ({error.msg}, column {error.colno})"
            except (ValueError, RecursionError) as error:
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
            yield Line(number, end, is_terminated, record)


@contextlib.contextmanager
def open_text(path: Path) -> Iterator[BufferedReader | gzip.GzipFile | lzma.LZMAFile]:
    """Open the bytes of a file's text, decompressed where its name ends in one of `COMPRESSED`.

    A damaged compressed file raises `StoreError` while it is read.
    """
    try:
        with path.open("rb") as raw:
            yield COMPRESSED[path.suffix](raw, "rb") if path.suffix in COMPRESSED else raw
    except (gzip.BadGzipFile, lzma.LZMAError, zlib.error, EOFError) as error:
        raise StoreError(
            f"{path}: cut short or no {path.suffix} file ({error}): expected compressed JSONL: copy it again"
        ) from None


def count_lines(path: Path) -> int:
    """Return the number of lines of a file; raises as `open_text` does."""
    with open_text(path) as stream:
        return sum(1 for _ in stream)


def refuse_compressed(path: Path) -> None:
    """Raise `StoreError` for an output whose name says that it is compressed."""
    if path.suffix in COMPRESSED:
        raise StoreError(
            f"{path}: the output is not compressed: expected a name without {path.suffix}"
        )
