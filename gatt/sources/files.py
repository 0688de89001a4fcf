"""Rows of one file: JSON lines, a JSON array, CSV, Parquet or Arrow, compressed or not.

What a file is, its first bytes say; its name decides only about CSV.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import json
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Final

from gatt.errors import DataError
from gatt.runs.input_file import MOST_LINE_BYTES, parse_json
from gatt.sources.normalise import COLUMNS
from gatt.sources.rows import Row, unpacked

MOST_WHOLE_BYTES: Final = 2**30
"""Of JSON that is no JSON lines and has to be read as a whole."""
_CSV_NAMES: Final = {".csv", ".tsv"}


def _zstd(raw: BinaryIO, _mode: str) -> Any:
    # The codec comes with pyarrow; the standard library has one from Python 3.14 on.
    import pyarrow as pa

    return pa.CompressedInputStream(raw, "zstd")


_PACKED: Final[Mapping[bytes, Callable[[Any, Any], Any]]] = {
    b"\x1f\x8b": gzip.open, b"\xfd7zXZ\x00": lzma.open, b"BZh": bz2.open, b"\x28\xb5\x2f\xfd": _zstd,
}  # fmt: skip
"""First bytes -> what decompresses the rest."""
_REFUSED: Final[Mapping[bytes, str]] = {
    b"PK\x03\x04": "a ZIP archive or an Excel workbook: unpack it, or save it as CSV",
    b"7z\xbc\xaf": "a 7z archive: unpack it",
    b"Rar!": "a RAR archive: unpack it",
    b"\x04\x22\x4d\x18": "packed by lz4: unpack it",
    b"\x1f\x9d": "packed by compress: unpack it",
    b"SQLite format 3": "an SQLite data base: write its rows as JSON lines",
    b"Obj\x01": "an Avro file: write its rows as JSON lines",
    b"ORC": "an ORC file: write its rows as JSON lines",
    b"<?xml": "XML: write its rows as JSON lines",
    b"%PDF": "a PDF: expected JSON lines",
    b"version https://git-lfs": "a Git LFS pointer and not the data: run `git lfs pull`",
    b"<!doctype": "a web page and not the data: download the file itself",
    b"<html": "a web page and not the data: download the file itself",
}
_WIDE: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a file; a line that is no JSON is yielded with its problem.

    Raises:
        DataError: in one line: the file cannot be read, is damaged, is of another kind, or is not UTF-8.
    """
    try:
        with path.open("rb") as raw:
            head = raw.peek(16)
            if head.startswith(b"PAR1"):
                yield from _numbered(_parquet(raw), path)
            elif head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
                yield from _numbered(_arrow(raw, is_file=head.startswith(b"ARROW1")), path)
            else:
                opener = next((o for magic, o in _PACKED.items() if head.startswith(magic)), None)
                text = raw if opener is None else io.BufferedReader(opener(raw, "rb"))
                yield from _text_rows(path, text)
    except (lzma.LZMAError, zlib.error, EOFError) as error:
        raise DataError(f"{path}: damaged or cut short ({error}): copy it again") from None
    except OSError as error:
        # Codecs raise it without a number.
        said = f"cannot read: {error.strerror}: check the path"
        if error.strerror is None:
            said = f"damaged or cut short ({error}): copy it again"
        raise DataError(f"{path}: {said}") from None


def _text_rows(path: Path, stream: io.BufferedReader) -> Iterator[Row]:
    _refuse_other_kinds(path, stream.peek(512))
    if unpacked(path).suffix.casefold() in _CSV_NAMES:
        return _csv_rows(path, stream)
    lines = enumerate(iter(partial(stream.readline, MOST_LINE_BYTES + 1), b""), start=1)
    filled = ((number, data) for number, data in lines if data.strip(b"\xef\xbb\xbf \t\r\n"))
    number, first = next(filled, (0, b""))
    if not first:
        return iter(())
    start = _start(path, number, first)
    if not start.startswith(("[", "{")):
        _refuse_csv(path, start)
    if not _is_whole_file(start, has_more=bool(stream.peek(1).strip())):
        return _line_rows(path, chain([(number, first)], filled))
    data = first + stream.read(MOST_WHOLE_BYTES + 1)
    if len(data) > MOST_WHOLE_BYTES:
        raise DataError(
            f"{path}: one JSON value of more than {MOST_WHOLE_BYTES:,} bytes: expected JSON lines, "
            f"as `jq -c '.[]' {path.name}` writes them"
        )
    values = _whole(path, number, data)
    if values is not None:
        return _numbered(iter(_unwrapped(values)), path)
    return _line_rows(path, enumerate(data.splitlines(keepends=True), start=number))


def _line_rows(path: Path, lines: Iterable[tuple[int, bytes]]) -> Iterator[Row]:
    count = 0
    for number, data in lines:
        if len(data) > MOST_LINE_BYTES:
            raise DataError(
                f"{path} line {number}: longer than {MOST_LINE_BYTES:,} bytes: expected one JSON object a line"
            )
        if text := _decoded(path, number, data).strip():
            count += 1
            value, problem = _value(text)
            yield Row(count, f"line {number}", value, problem)


def _start(path: Path, number: int, data: bytes) -> str:
    """Return the first line; a longer one than is read at once may end in a part of a character."""
    try:
        return codecs.getincrementaldecoder("utf-8-sig")().decode(data).strip()
    except UnicodeDecodeError as error:
        raise _not_utf8(path, f" line {number}", error) from None


def _is_whole_file(start: str, *, has_more: bool) -> bool:
    """Whether the first line holds all rows, or begins an array or an object over several lines."""
    value, problem = _value(start)
    if problem is None:
        is_around_rows = isinstance(value, list) or _unwrapped([value])[0] is not value
        return is_around_rows and not has_more
    return start.startswith("[") or (start.startswith("{") and not start.endswith("}"))


def _value(text: str) -> tuple[object, str | None]:
    try:
        return parse_json(text), None
    except json.JSONDecodeError as error:
        return None, f"{error.msg}, column {error.colno}"


def _whole(path: Path, number: int, data: bytes) -> list[object] | None:
    """Return the rows of JSON over several lines: an array, or one object after another.

    Returns None where the lines are to be read each for itself, because the text as a whole is no JSON.

    Raises:
        DataError: a broken array.
    """
    text = _decoded(path, number, data).strip()
    values: list[object] = []
    decoder, at = json.JSONDecoder(), 0
    try:
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            values.append(value)
            at = _after_space(text, at)
    except (ValueError, RecursionError) as error:
        if text.startswith("{"):
            return None
        raise DataError(f"{path}: a JSON array that is broken ({error}): mend it") from None
    only = values[0] if len(values) == 1 else None
    return only if isinstance(only, list) else values


def _unwrapped(values: list[object]) -> list[object]:
    """Return the rows in the one list of objects of a single object around all of them; else the values."""
    if len(values) != 1 or not isinstance(values[0], Mapping):
        return values
    lists = [
        v for v in values[0].values() if isinstance(v, list) and v and isinstance(v[0], Mapping)
    ]
    is_wrapper = len(lists) == 1 and any(name in lists[0][0] for name in COLUMNS)
    return lists[0] if is_wrapper else values


def _after_space(text: str, at: int) -> int:
    while text[at : at + 1].isspace():
        at += 1
    return at


def _csv_rows(path: Path, stream: io.BufferedReader) -> Iterator[Row]:
    # The limit is one for the process; a dialogue in a cell is longer than its default.
    csv.field_size_limit(MOST_LINE_BYTES)
    with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
        try:
            header = text.readline()
            delimiter = max(",;\t|", key=header.count)
            names = next(csv.reader([header], delimiter=delimiter), [])
            yield from _numbered(csv.DictReader(text, names, delimiter=delimiter), path)
        except UnicodeDecodeError as error:
            raise _not_utf8(path, "", error) from None
        except csv.Error as error:
            raise DataError(f"{path}: broken CSV ({error}): mend it") from None


def _parquet(raw: io.BufferedReader) -> Iterator[object]:
    import pyarrow.parquet as pq

    for batch in pq.ParquetFile(raw).iter_batches(batch_size=256):
        yield from batch.to_pylist()


def _arrow(raw: io.BufferedReader, *, is_file: bool) -> Iterator[object]:
    import pyarrow as pa

    reader = pa.ipc.open_file(raw) if is_file else pa.ipc.open_stream(raw)
    batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader
    for batch in batches:
        yield from batch.to_pylist()


def _numbered(values: Iterator[object], path: Path) -> Iterator[Row]:
    try:
        for number, value in enumerate(values, start=1):
            yield Row(number, f"row {number}", value)
    except (DataError, OSError, csv.Error, UnicodeDecodeError):
        raise
    except Exception as error:  # pyarrow's errors have many classes
        said = " ".join(str(error).split())[:200]
        raise DataError(f"{path}: damaged or cut short ({said}): copy it again") from None


def _decoded(path: Path, number: int, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        number += data.count(b"\n", 0, error.start)
        raise _not_utf8(path, f" line {number}", error) from None


def _not_utf8(path: Path, where: str, error: UnicodeDecodeError) -> DataError:
    byte = error.object[error.start]
    runs = [len(run) for run in re.findall(rb"[\x80-\xff]+", error.object)]
    # Letters with accents stand alone between others; other scripts are written with such bytes alone.
    if 2 * runs.count(1) > len(runs):
        name, what = (
            "WINDOWS-1252",
            "probably Windows-1252 or another encoding of one byte a character",
        )
    else:
        name, what = (
            "ENCODING",
            (
                "probably an encoding of another script, such as Windows-1251, GB18030, Shift-JIS or EUC-KR"
            ),
        )
    return DataError(
        f"{path}{where}: not UTF-8 (byte 0x{byte:02x}), {what}: convert it: "
        f"iconv -f {name} -t UTF-8 {path.name} > utf8_{path.name}"
    )


def _refuse_other_kinds(path: Path, head: bytes) -> None:
    """Refuse a file that is no text of UTF-8, by its first bytes.

    Raises:
        DataError: names what it is, and what to do.
    """
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    for magic, what in _REFUSED.items():
        if head.startswith(magic) or start.startswith(magic):
            raise DataError(f"{path}: {what}")
    if head[257:262] == b"ustar":
        raise DataError(f"{path}: a tar archive: unpack it")
    for magic in _PACKED:
        if head.startswith(magic):
            raise DataError(f"{path}: compressed twice: unpack it once")
    if head.startswith(_WIDE) or b"\0" in head[:64]:
        is_wide = head.startswith(_WIDE) or head[:64].count(b"\0") >= len(head[:64]) // 3
        what = "UTF-16 (or UTF-32)" if is_wide else "binary"
        raise DataError(
            f"{path}: {what}, expected UTF-8"
            + (
                f": convert it: iconv -f UTF-16 -t UTF-8 {path.name} > utf8_{path.name}"
                if is_wide
                else ""
            )
        )


def _refuse_csv(path: Path, header: str) -> None:
    """Refuse what begins as a table of plain text does.

    Raises:
        DataError: the first line has several names with a comma, semicolon or tab between them.
    """
    cells = header.split(max(",;\t", key=header.count))
    if len(cells) > 1 and all(cell.strip(' "').isidentifier() for cell in cells):
        raise DataError(
            f"{path}: looks like CSV (columns {header[:100]}), expected JSON lines: give it a name that "
            "ends in .csv"
        )
