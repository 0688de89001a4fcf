"""How far a run is, who works on it and for how long, from the files alone."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

import pytest

from data_synth import pipeline
from data_synth.commands.synth_status import status_lines
from data_synth.config import SynthConfig
from data_synth.parallel.status import run_status
from data_synth.shards.fingerprint import read_mark
from data_synth.shards.shard import WHOLE, Shard
from gatt.errors import StoreError
from gatt.runs.lock import lock_path
from gatt.runs.store import meta_path
from tests.support.runs.synth_runs import make, synth_config


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SynthConfig:
    monkeypatch.setattr(pipeline, "provenance", lambda: {"commit": None})
    return synth_config(tmp_path)


def test_a_complete_run(config: SynthConfig) -> None:
    result, _ = make(config)
    status = run_status(config.output_dir)
    (whole,) = status.shards
    assert (whole.num_samples, whole.num_planned, whole.num_turns) == (10, 10, 30)
    assert whole.num_targets == result.num_targets
    assert (whole.holder, status.seconds_left) == (None, 0.0)
    head, line = status_lines(status)
    share = f"{result.num_targets / 30:.0%}"
    assert head == (
        f"{config.output_dir}: 10 of 10 samples (100%), {result.num_targets} targets ({share} of 30 "
        "turns), complete"
    )
    assert line == "  samples.jsonl: 10 of 10 samples, complete"


def cut(path: Path, num_rows: int) -> None:
    rows = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(rows[:num_rows]))


def test_shards_in_progress_with_rate_and_time_left(config: SynthConfig) -> None:
    folder = config.output_dir
    for number in (1, 2, 3):
        make(config, Shard(number, 4))
    first = Shard(1, 4).path(folder)
    cut(first, 1)
    cut(Shard(2, 4).path(folder), 2)
    with read_mark(folder, Shard(1, 4)).store(folder, Shard(1, 4)):
        # One row stood there when it was opened; another one came in the 40 seconds since.
        rows = Shard(3, 4).path(folder).read_bytes().splitlines(keepends=True)
        with first.open("ab") as stream:
            stream.write(rows[0])
        os.utime(lock_path(first), (1000, 1000))
        os.utime(first, (1040, 1040))
        status = run_status(folder)
        lines = status_lines(status)
    one, two, three = status.shards
    assert one.holder == f"pid {os.getpid()} on {platform.node()}"
    assert one.samples_a_second == pytest.approx(1 / 40)
    assert one.seconds_left == pytest.approx(40)
    assert (two.holder, two.seconds_left, three.seconds_left) == (None, None, 0.0)
    assert status.num_samples == 7
    assert status.seconds_left is None
    assert lines[0].startswith(f"{folder}: 7 of 10 samples (70%)")
    assert lines[0].endswith("time left unknown")
    assert lines[1] == (
        f"  shard 1/4: 2 of 3 samples, in use by {one.holder}, 1.5 samples a minute, "
        "about 0:00:40 left"
    )
    assert lines[2] == "  shard 2/4: 2 of 3 samples, in use by nobody"
    assert lines[3] == "  shard 3/4: 3 of 3 samples, complete"
    assert lines[4] == "  shard 4/4: not begun"


def test_a_run_that_has_just_begun(config: SynthConfig) -> None:
    make(config)
    path = config.output_dir / "samples.jsonl"
    cut(path, 0)
    lock_path(path).write_text("", encoding="utf-8")
    status = run_status(config.output_dir)
    assert status.shards[0].samples_a_second is None
    assert status_lines(status) == [
        f"{config.output_dir}: 0 of 10 samples (0%), 0 targets (no turn yet), time left unknown",
        "  samples.jsonl: 0 of 10 samples, in use by nobody",
    ]


def test_what_is_no_run_or_several_is_refused(config: SynthConfig, tmp_path: Path) -> None:
    with pytest.raises(
        StoreError, match="no samples in it: expected an output_dir of `gatt synth`"
    ):
        run_status(tmp_path)
    make(config, Shard(1, 2))
    folder = config.output_dir
    for shard in (Shard(2, 3), Shard(2, 2)):
        path = shard.path(folder)
        path.write_bytes(b"")
        meta = json.loads(meta_path(Shard(1, 2).path(folder)).read_text(encoding="utf-8"))
        meta["describe"]["shard"] = str(shard)
        meta_path(path).write_text(json.dumps(meta), encoding="utf-8")
    with pytest.raises(
        StoreError, match=r"00002-of-00003.jsonl: belongs to another run or division"
    ):
        run_status(folder)


@pytest.mark.parametrize("turns", [None, 3, ["a"], {"turn": 1}])
def test_a_row_without_turns_is_one_line(config: SynthConfig, turns: object) -> None:
    path = make(config)[0].samples
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows[1]["turns"] = turns
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    with pytest.raises(
        StoreError, match=r"samples.jsonl: sample 2, 's000001', has no list of turns: expected what"
    ):
        run_status(config.output_dir)


def test_samples_of_no_run_are_told_of_in_one_line(config: SynthConfig) -> None:
    make(config)
    meta_path(WHOLE.path(config.output_dir)).unlink()
    with pytest.raises(
        StoreError, match=r"meta.json: missing, .* `gatt synth splice` .* need none"
    ):
        run_status(config.output_dir)


def test_a_lock_that_cannot_be_read_is_one_line(config: SynthConfig) -> None:
    make(config)
    lock = lock_path(WHOLE.path(config.output_dir))
    lock.unlink()
    lock.mkdir()
    with pytest.raises(StoreError, match=r"samples.jsonl.lock: cannot read: Is a directory"):
        run_status(config.output_dir)
