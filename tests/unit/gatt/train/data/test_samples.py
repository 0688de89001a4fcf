from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from gatt.errors import DataError
from gatt.train.data.samples import read_all_samples
from tests.support.models.tiny import sample, write_samples


def test_an_id_of_an_earlier_file_gets_the_number_of_its_file(tmp_path: Path) -> None:
    """Every run of `gatt synth` counts from s000000."""
    one = write_samples(tmp_path / "one.jsonl", [sample(1), sample(2)])
    moved = [replace(s, provenance={"seed": 1}) for s in (sample(1), sample(2))]
    found = list(read_all_samples([one, write_samples(tmp_path / "other.jsonl", moved)]))
    assert [s.id for s in found] == ["s-1", "s-2", "s-1.2", "s-2.2"]
    assert [dict(s.provenance).get("seed") for s in found[2:]] == [1, 1]


def test_a_number_is_counted_on_until_the_id_is_free(tmp_path: Path) -> None:
    """Samples that were put into one file before have such ids already."""
    first = [sample(1), replace(sample(1), id="s-1.2", provenance={"seed": 1})]
    other = [replace(s, provenance={"seed": 2}) for s in first[::-1]]
    paths = [write_samples(tmp_path / f"{n}.jsonl", s) for n, s in enumerate((first, other))]
    found = [s.id for s in read_all_samples(paths)]
    assert found == ["s-1", "s-1.2", "s-1.2.2", "s-1.3"]


def test_two_samples_with_one_id(tmp_path: Path) -> None:
    path = write_samples(tmp_path / "twice.jsonl", [sample(1), sample(2), sample(1)])
    with pytest.raises(DataError, match=r"twice\.jsonl sample 3: id 's-1' is that of .*sample 1"):
        list(read_all_samples([path]))


def test_a_file_that_is_given_twice(tmp_path: Path) -> None:
    one = write_samples(tmp_path / "one.jsonl", [sample(1), sample(2)])
    shutil.copy(one, tmp_path / "copy.jsonl")
    with pytest.raises(
        DataError, match=r"copy\.jsonl sample 1: the same as .*one\.jsonl sample 1: "
    ):
        list(read_all_samples([one, tmp_path / "copy.jsonl"]))
