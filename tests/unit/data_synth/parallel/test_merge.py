"""Merging refuses what is not complete or not of one run, and replaces nothing by half."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from data_synth import pipeline
from data_synth.config import SynthConfig
from data_synth.parallel.merge import merge_shards
from data_synth.shards.fingerprint import read_mark
from data_synth.shards.shard import WHOLE, Shard
from gatt.errors import DataError, StoreError
from gatt.generation.base import Generation
from gatt.runs.lock import free_lock, take_lock
from gatt.runs.store import meta_path
from tests.support.runs.stages import RecordingEngine
from tests.support.runs.synth_runs import make, synth_config


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SynthConfig:
    monkeypatch.setattr(pipeline, "provenance", lambda: {"commit": None})
    return synth_config(tmp_path)


@pytest.fixture
def folder(config: SynthConfig) -> Path:
    for number in (1, 2, 3):
        make(config, Shard(number, 3))
    return config.output_dir


def test_missing_shards_are_named(folder: Path) -> None:
    Shard(2, 3).path(folder).unlink()
    with pytest.raises(
        StoreError, match=r"shards: no shard 2 of 3, expected all of them: run `gatt"
    ):
        merge_shards(folder)
    assert not WHOLE.path(folder).exists()
    shutil.rmtree(folder / "shards")
    with pytest.raises(StoreError, match=r"shards: no shard in it, expected those of `gatt synth"):
        merge_shards(folder)


def test_incomplete_shards_are_named_with_what_they_have(folder: Path) -> None:
    for number in (1, 3):
        path = Shard(number, 3).path(folder)
        # Cut inside a line: the last row does not count.
        path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(
        StoreError, match=r"incomplete: shards 1/3 \(3 of 4 samples\), 3/3 \(2 of 3 samples\): run"
    ):
        merge_shards(folder)
    assert not WHOLE.path(folder).exists()


def test_shards_of_another_number_or_run_are_refused(config: SynthConfig, folder: Path) -> None:
    other = replace(config, output_dir=config.output_dir.with_name("other"), seed=1)
    make(other, Shard(2, 3))
    make(other, Shard(1, 3))
    strange, ours = Shard(2, 3).path(other.output_dir), Shard(2, 3).path(folder)
    shutil.copy(strange, ours)
    shutil.copy(meta_path(strange), meta_path(ours))
    with pytest.raises(
        StoreError, match=r"shards 2/3 belong to another run than 1/3 \(fingerprint"
    ):
        merge_shards(folder)
    shutil.copy(strange, Shard(1, 4).path(folder))
    with pytest.raises(
        StoreError, match="holds shards of 3 and of 4, expected those of one number"
    ):
        merge_shards(folder)


def test_a_renamed_shard_is_refused(folder: Path) -> None:
    first, second = Shard(1, 3).path(folder), Shard(2, 3).path(folder)
    shutil.copy(first, second)
    with pytest.raises(StoreError, match=r"00002.*row 1 is sample 's000000', expected 's000003'"):
        merge_shards(folder)
    shutil.copy(meta_path(first), meta_path(second))
    with pytest.raises(
        StoreError, match=r"is shard 1/3 by 00002-of-00003.jsonl.meta.json, expected"
    ):
        merge_shards(folder)


def test_a_merged_file_of_another_run_is_not_replaced(config: SynthConfig, folder: Path) -> None:
    other = replace(config, output_dir=config.output_dir.with_name("other"), seed=1)
    result, _ = make(other)
    for path in (result.samples, meta_path(result.samples)):
        shutil.copy(path, folder / path.name)
    with pytest.raises(StoreError, match=r"samples.jsonl: belongs to another run: fingerprint"):
        merge_shards(folder)
    assert WHOLE.path(folder).read_bytes() == result.samples.read_bytes()


def test_a_shard_in_use_is_not_merged(folder: Path) -> None:
    fd = take_lock(Shard(2, 3).path(folder))
    with pytest.raises(StoreError, match=rf"00002-of-00003.jsonl: is in use .*pid {os.getpid()}"):
        merge_shards(folder)
    free_lock(fd)
    assert merge_shards(folder).num_samples == 10


def test_merging_again_gives_the_same_and_clears_what_a_killed_one_left(folder: Path) -> None:
    draft = folder / ".samples.jsonl.1.tmp"
    draft.write_bytes(b"half")
    merge_shards(folder)
    rows = WHOLE.path(folder).read_bytes()
    assert not draft.exists()
    merge_shards(folder)
    assert WHOLE.path(folder).read_bytes() == rows
    assert read_mark(folder, WHOLE) == read_mark(folder, Shard(1, 3))


def test_a_disk_that_is_full_leaves_the_old_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    merge_shards(folder)
    rows = WHOLE.path(folder).read_bytes()

    def refuse(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gatt.runs.store.os.fsync", refuse)
    with pytest.raises(StoreError, match=r"no space left on its device: what was written stays"):
        merge_shards(folder)
    assert WHOLE.path(folder).read_bytes() == rows
    assert not list(folder.glob(".*.tmp"))


@pytest.mark.parametrize("text", [None, "[]", '{"source": "x"}', "{"])
def test_the_account_of_the_source_is_needed(folder: Path, text: str | None) -> None:
    path = folder / "source.json"
    path.unlink()
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(
        StoreError, match=r"source.json: missing or broken: copy it, and config.yaml"
    ):
        merge_shards(folder)


def test_shards_without_any_target_are_joined_and_told(config: SynthConfig) -> None:
    engine = RecordingEngine(lambda _: Generation("On and on", "length", 9))
    for number in (1, 2):
        pipeline.run_synth(config, lambda: engine, Shard(number, 2))
    with pytest.raises(DataError, match="none of 30 turns has a target"):
        merge_shards(config.output_dir)
    assert (config.output_dir / "README.md").exists()


@pytest.mark.parametrize("text", ["{}", '{"kind": "sample"}', '{"describe": {"shard": "1/3"}}'])
def test_a_broken_description_is_refused(folder: Path, text: str) -> None:
    meta_path(Shard(1, 3).path(folder)).write_text(text, encoding="utf-8")
    with pytest.raises(StoreError, match=r"meta.json: broken or of another version, expected what"):
        merge_shards(folder)


def test_a_description_that_was_edited_is_refused(folder: Path) -> None:
    path = meta_path(Shard(1, 3).path(folder))
    path.write_text(path.read_text().replace('"seed": 0', '"seed": 7'), encoding="utf-8")
    with pytest.raises(StoreError, match=r"broken or of another version"):
        merge_shards(folder)
