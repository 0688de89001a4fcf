"""Shards of two runs never share a folder: the later one is refused and overwrites nothing."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from data_synth import pipeline
from data_synth.config import SynthConfig
from data_synth.parallel.merge import merge_shards
from data_synth.shards import shard as shards
from data_synth.shards.shard import WHOLE, Shard, beginning
from gatt.config.load import save_config
from gatt.errors import StoreError
from gatt.generation.base import SamplingConfig
from gatt.runs.lock import free_lock, take_lock
from tests.support.runs.synth_runs import make, synth_config


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SynthConfig:
    monkeypatch.setattr(pipeline, "provenance", lambda: {"commit": None})
    return synth_config(tmp_path)


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }


def hotter(config: SynthConfig) -> SynthConfig:
    sampling = SamplingConfig(max_new_tokens=40, temperature=0.9, top_p=0.9)
    return replace(config, teacher=replace(config.teacher, sampling=sampling))


def test_a_shard_with_other_settings_is_refused_by_name_and_overwrites_nothing(config) -> None:
    make(config, Shard(1, 2))
    before = files(config.output_dir)
    for other, named in (
        (replace(config, seed=1), r"seed 0 -> 1, plan.digest"),
        (replace(config, num_samples=9), r"num_samples 10 -> 9"),
        (hotter(config), r"teacher.sampling.temperature 0.7 -> 0.9"),
    ):
        with pytest.raises(
            StoreError,
            match=rf"00001-of-00002.jsonl: belongs to another run than .* \(changed: {named}.*\): "
            "expected one run in a folder: take its settings or another output_dir",
        ):
            make(other, Shard(2, 2))
        assert files(config.output_dir) == before
    make(config, Shard(2, 2))
    assert merge_shards(config.output_dir).num_samples == 10


def test_a_shard_made_again_beside_another_joined_run_is_refused(config) -> None:
    for number in (1, 2):
        make(config, Shard(number, 2))
    merge_shards(config.output_dir)
    Shard(2, 2).path(config.output_dir).unlink()
    before = files(config.output_dir)
    with pytest.raises(StoreError, match=r"belongs to another run than .*seed 0 -> 1"):
        make(replace(config, seed=1), Shard(1, 2))
    assert files(config.output_dir) == before


def test_of_two_runs_that_begin_at_once_one_is_refused(config) -> None:
    problems: list[Exception] = []
    together = threading.Barrier(2)

    def begin(settings: SynthConfig, number: int) -> None:
        together.wait()
        try:
            make(settings, Shard(number, 2))
        except StoreError as error:
            problems.append(error)

    runs = [(config, 1), (replace(config, seed=1), 2)]
    threads = [threading.Thread(target=begin, args=run) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (problem,) = problems
    assert "belongs to another run than the one that is asked for (changed: seed" in str(problem)
    assert len(shards.found_shards(config.output_dir)) == 1


def test_a_shard_waits_for_others_that_begin_but_not_for_long(config, monkeypatch) -> None:
    folder = config.output_dir
    folder.mkdir()
    fd = take_lock(WHOLE.path(folder))
    timer = threading.Timer(0.2, free_lock, [fd])
    timer.start()
    make(config, Shard(1, 2))
    timer.join()
    monkeypatch.setattr(shards, "BEGIN_SECONDS", 0.05)
    fd = take_lock(WHOLE.path(folder))
    with pytest.raises(StoreError, match=r"samples.jsonl: is in use by another process"):
        make(config, Shard(2, 2))
    free_lock(fd)
    make(config, Shard(2, 2))


def test_a_folder_that_cannot_be_had_is_one_line(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.touch()
    with (
        pytest.raises(StoreError, match=r"file/samples.jsonl: cannot lock: File exists: mend it"),
        beginning(place, Shard(1, 2)),
    ):
        pass


def test_shards_are_not_joined_under_the_settings_of_another_run(config) -> None:
    for number in (1, 2):
        make(config, Shard(number, 2))
    path = config.output_dir / "config.yaml"
    right = path.read_bytes()
    save_config(replace(hotter(config), plain_fraction=0.5), path)
    with pytest.raises(
        StoreError,
        match=r"config.yaml: is of another run than the samples \(changed: plain_fraction 0.2 -> 0.5, "
        r"teacher.sampling.temperature 0.7 -> 0.9\): copy it from a machine that made a shard",
    ):
        merge_shards(config.output_dir)
    assert not (config.output_dir / "README.md").exists()
    assert not WHOLE.path(config.output_dir).exists()
    path.write_bytes(right)
    assert merge_shards(config.output_dir).num_samples == 10
