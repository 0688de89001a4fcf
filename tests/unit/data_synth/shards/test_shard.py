"""Shards part the batches of a plan, name their files, and do not mix."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_synth.shards.shard import WHOLE, Shard, found_shards, num_planned_rows, refuse_mixture
from gatt.errors import ConfigError, StoreError


@given(st.integers(1, 60), st.integers(1, 8), st.integers(1, 9))
def test_shards_part_the_batches_between_them(num_samples, batch_samples, num_shards) -> None:
    size = (num_samples, batch_samples)
    shards = [Shard(n, num_shards) for n in range(1, num_shards + 1)]
    batches = sorted((b for s in shards for b in s.batches(*size)), key=lambda b: b.start)
    assert batches == list(WHOLE.batches(*size))
    assert [i for b in batches for i in b] == list(range(num_samples))
    assert [s.num_samples(*size) for s in shards] == [len(list(s.indices(*size))) for s in shards]


def test_batches_go_round() -> None:
    # Batches of 2 of 9 samples: 01 23 45 67 8, dealt to two shards.
    assert list(Shard(1, 2).indices(9, 2)) == [0, 1, 4, 5, 8]
    assert list(Shard(2, 2).indices(9, 2)) == [2, 3, 6, 7]


def test_a_shard_is_named_by_its_number() -> None:
    assert Shard.parse("2/8") == Shard(2, 8)
    assert str(Shard(2, 8)) == "2/8"
    assert Shard(2, 8).path(Path("run")) == Path("run/shards/00002-of-00008.jsonl")
    assert Shard.parse("1/1") == WHOLE
    assert WHOLE.path(Path("run")) == Path("run/samples.jsonl")


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "a/b", "-1/2", "1/0", "1/2/3"])
def test_no_such_shard_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=rf"shard '?{text}'?: expected K/N with K from 1 to N"):
        Shard.parse(text)


def begin(folder: Path, *shards: Shard) -> None:
    for shard in shards:
        shard.path(folder).parent.mkdir(parents=True, exist_ok=True)
        shard.path(folder).touch()


def test_shards_are_found_by_their_files(tmp_path: Path) -> None:
    assert found_shards(tmp_path) == []
    begin(tmp_path, Shard(10, 12), Shard(2, 12))
    (tmp_path / "shards" / "notes.jsonl").touch()
    (tmp_path / "shards" / "00002-of-00012.jsonl.lock").touch()
    assert found_shards(tmp_path) == [Shard(2, 12), Shard(10, 12)]


def test_work_that_is_divided_in_another_way_is_refused(tmp_path: Path) -> None:
    refuse_mixture(tmp_path, WHOLE)
    refuse_mixture(tmp_path, Shard(1, 4))
    begin(tmp_path, Shard(1, 4))
    refuse_mixture(tmp_path, Shard(2, 4))
    way = re.escape(
        f"go on with --workers 4 or --shard K/4, join them with `gatt synth merge {tmp_path}`"
    )
    with pytest.raises(StoreError, match=rf"shards: holds shards of 4, expected none: {way}"):
        refuse_mixture(tmp_path, WHOLE)
    with pytest.raises(StoreError, match="holds shards of 4, expected those of 3"):
        refuse_mixture(tmp_path, Shard(1, 3))
    # Joined, they may stay.
    begin(tmp_path, WHOLE)
    refuse_mixture(tmp_path, WHOLE)
    refuse_mixture(tmp_path, Shard(1, 4))
    with pytest.raises(
        StoreError, match=r"samples.jsonl: stands there already, expected those of 4"
    ):
        refuse_mixture(tmp_path, Shard(3, 4))


def test_rows_must_be_the_first_planned_ones() -> None:
    rows = [{"id": "s000002"}, {"id": "s000003"}]
    assert num_planned_rows(Path("f"), [], iter([2, 3])) == 0
    assert num_planned_rows(Path("f"), rows, iter([2, 3, 6])) == 2
    with pytest.raises(StoreError, match=r"f: row 2 is sample 's000003', expected 's000004'"):
        num_planned_rows(Path("f"), rows, iter([2, 4]))
    with pytest.raises(StoreError, match=r"f: row 2 is sample 's000003', expected no further one"):
        num_planned_rows(Path("f"), rows, iter([2]))
