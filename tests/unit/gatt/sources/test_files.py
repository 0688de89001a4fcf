"""The same two rows in every packing that is read, and by name what is not."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gatt.errors import DataError
from gatt.sources.config import SourceConfig
from gatt.sources.files import read_rows
from gatt.sources.load import load_dialogues

ROWS = [
    {"messages": [{"role": "user", "content": f"Né {i}?"}, {"role": "assistant", "content": "Oui"}]}
    for i in range(2)
]
LINES = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)
UTF8 = LINES.encode()
TABLE = pa.Table.from_pylist(ROWS)


def zstd(data: bytes) -> bytes:
    with pa.BufferOutputStream() as sink:
        with pa.CompressedOutputStream(sink, "zstd") as stream:
            stream.write(data)
        return sink.getvalue().to_pybytes()


def table(delimiter: str = ",") -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter)
    # Longer than a cell may be by default.
    notes = "x" * 200_000
    writer.writerows([["messages", "notes"], *([json.dumps(r["messages"]), notes] for r in ROWS)])
    return text.getvalue().encode()


def parquet() -> bytes:
    pq.write_table(TABLE, sink := io.BytesIO())
    return sink.getvalue()


def arrow(new: Callable[..., pa.RecordBatchStreamWriter]) -> bytes:
    with new(sink := io.BytesIO(), TABLE.schema) as writer:
        writer.write_table(TABLE)
    return sink.getvalue()


READ: dict[str, bytes] = {
    "d.jsonl": UTF8,
    "d.json": json.dumps(ROWS).encode(),
    "d.jsonl.gz": gzip.compress(UTF8),
    "d.jsonl.xz": lzma.compress(UTF8),
    "d.jsonl.bz2": bz2.compress(UTF8),
    "d.jsonl.zst": zstd(UTF8[:50]) + zstd(UTF8[50:]),
    "d.json.zst": zstd(json.dumps(ROWS, indent=1).encode()),
    "d.parquet": parquet(),
    "d.arrow": arrow(pa.ipc.new_stream),
    "d.feather": arrow(pa.ipc.new_file),
    "d.csv": table(),
    "d.tsv": b"\xef\xbb\xbf" + table("\t"),
    "d.csv.gz": gzip.compress(table(";")),
    # Content goes before the name.
    "packed_by_hand.jsonl": gzip.compress(UTF8),
    "in_an_object.json": json.dumps({"version": 1, "data": ROWS}).encode(),
    "in_an_object_over_lines.json": json.dumps({"data": ROWS}, indent=1).encode(),
    "array.jsonl": b"\xef\xbb\xbf \n" + json.dumps(ROWS).encode() + b"\n\n",
    "bom_and_blanks.jsonl": b"\xef\xbb\xbf\r\n" + UTF8.replace(b"\n", b"\r\n\r\n"),
    "over_lines.jsonl": "\n".join(json.dumps(row, indent=2) for row in ROWS).encode(),
    "lists.jsonl": "".join(json.dumps(row["messages"]) + "\n" for row in ROWS).encode(),
}


@pytest.mark.parametrize("source", ["jsonl", "hub"])
@pytest.mark.parametrize("name", READ)
def test_every_packing_gives_the_same_dialogues(tmp_path: Path, name: str, source: str) -> None:
    path = tmp_path / name
    path.write_bytes(READ[name])
    config = SourceConfig(name=source, path=str(path), min_turns=1, max_turns=4)
    dialogues, report = load_dialogues(config, None)
    stem = name.partition(".")[0]
    assert {d.id: d.user_turns for d in dialogues} == {
        f"{stem}-1": ("Né 0?",), f"{stem}-2": ("Né 1?",),
    }  # fmt: skip
    assert report.num_read == 2


REFUSED: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "UTF-16": (LINES.encode("utf-16"), ("UTF-16", "iconv")),
    "UTF-16 without a mark": (LINES.encode("utf-16-le"), ("UTF-16", "iconv")),
    "Windows-1252": (LINES.encode("cp1252"), ("line 1", "Windows-1252", "0xe9", "iconv")),
    "Windows-1252 later": (b'{"a": 1}\n' * 9000 + LINES.encode("cp1252"), ("line 9001", "Windows-1252")),
    "Windows-1252 in an array": (
        json.dumps(ROWS, ensure_ascii=False, indent=1).encode("cp1252"),
        ("line 6", "Windows-1252"),
    ),
    "another script": ('{"messages": "日本語テスト"}'.encode("shift_jis"), ("line 1", "Shift-JIS", "iconv")),
    "tar": (bytes(257) + b"ustar" + bytes(300), ("tar",)),
    "lz4": (b"\x04\x22\x4d\x18" + bytes(40), ("lz4",)),
    "CSV by another name": (table(), ("CSV", "messages", ".csv")),
    "ZIP": (b"PK\x03\x04" + bytes(40), ("ZIP",)),
    "LFS": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", ("git lfs pull",)),
    "web page": (b"\n<!DOCTYPE html>\n<html>", ("web page",)),
    "binary": (b"\x93NUMPY\x01\x00\x0b" + b"x" * 60, ("binary",)),
    "twice": (gzip.compress(gzip.compress(UTF8)), ("twice",)),
    "cut gzip": (gzip.compress(UTF8 * 99)[:-20], ("cut short",)),
    "damaged bzip2": (bz2.compress(UTF8)[:30] + b"zzzzzzzzzzzzzzzzzzzz", ("damaged",)),
    "cut xz": (lzma.compress(UTF8)[:-30], ("cut short",)),
    "cut zstd": (zstd(UTF8)[:-9], ("cut short",)),
    "cut parquet": (parquet()[:-9], ("damaged",)),
    "cut array": (json.dumps(ROWS).encode()[:-1], ("JSON array", "broken")),
    "deep array": (b"[" * 100_000, ("JSON array", "broken")),
    "empty": (b"\n \n", ("no dialogue",)),
}  # fmt: skip


@pytest.mark.parametrize(("data", "facts"), REFUSED.values(), ids=REFUSED)
def test_what_a_file_is_stands_in_the_error(tmp_path, data, facts) -> None:
    path = tmp_path / "d.jsonl"
    path.write_bytes(data)
    config = SourceConfig(name="jsonl", path=str(path), min_turns=1, max_lost=10**6)
    with pytest.raises(DataError) as caught:
        load_dialogues(config, None)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    assert all(fact in message for fact in facts)


def test_a_broken_line_leaves_the_others(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"id": "cut\n\n{"a": 1}\n[1\n3\n{"b": 2}', encoding="utf-8")
    rows = list(read_rows(path))
    assert [(row.number, row.place, row.value) for row in rows] == [
        (1, "line 1", None), (2, "line 3", {"a": 1}), (3, "line 4", None), (4, "line 5", 3),
        (5, "line 6", {"b": 2}),
    ]  # fmt: skip
    assert [bool(row.problem) for row in rows] == [True, False, True, False, False]
