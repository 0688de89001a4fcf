"""Compressed JSONL is read as if it were not compressed; a damaged file is one line."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from gatt.errors import DataError, StoreError
from gatt.runs.input_file import refuse_compressed, scan_lines
from gatt.runs.store import read_records
from gatt.train.run_folder import digest

PACK = {".gz": gzip.compress, ".xz": lzma.compress}
TEXT = b'\xef\xbb\xbf{"a": 1}\n\n{"b": "\xc3\xa9"}\n{"c": 3}'


@pytest.fixture(params=sorted(PACK))
def pack(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[bytes], Path]:
    def write(data: bytes) -> Path:
        path = tmp_path / f"rows.jsonl{request.param}"
        path.write_bytes(PACK[request.param](data))
        return path

    return write


def test_a_compressed_file_has_the_lines_of_the_plain_one(pack, tmp_path: Path) -> None:
    plain = tmp_path / "rows.jsonl"
    plain.write_bytes(TEXT)
    assert list(scan_lines(pack(TEXT))) == list(scan_lines(plain))
    assert [line.number for line in scan_lines(plain)] == [1, 3, 4]
    assert digest(pack(TEXT)) == digest(plain) != digest(pack(TEXT + b"\n"))


def test_a_torn_end_and_a_broken_line_are_those_of_the_text(pack) -> None:
    assert list(read_records(pack(b'{"a": 1}\n{"b'))) == [{"a": 1}]
    with pytest.raises(DataError, match=r"rows\.jsonl\.\w+ line 1: "):
        list(read_records(pack(b'{"a\n{"b": 1}\n')))


def test_a_file_cut_short_or_of_another_kind_is_one_line(pack) -> None:
    path = pack(json.dumps({"text": [n**3 for n in range(9000)]}).encode())
    whole = path.read_bytes()
    fact = rf"^[^\n]*rows\.jsonl{path.suffix}: [^\n]*$"
    for data in (whole[: len(whole) // 2], TEXT, whole[:40] + bytes(200) + whole[240:]):
        path.write_bytes(data)
        with pytest.raises(StoreError, match=fact):
            digest(path)
        with pytest.raises(DataError, match=fact):
            list(read_records(path))


def test_nothing_is_written_under_a_name_that_says_compressed(tmp_path: Path) -> None:
    refuse_compressed(tmp_path / "cases.jsonl")
    with pytest.raises(StoreError, match=r"cases\.jsonl\.gz"):
        refuse_compressed(tmp_path / "cases.jsonl.gz")
