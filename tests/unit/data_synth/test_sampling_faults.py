"""Kills at random moments and a full disk: what is written stays, and the end is the same."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from data_synth import pipeline
from gatt.errors import StoreError
from tests.support.runs.killed_runs import killed_runs
from tests.support.runs.synth_runs import make, synth_config


def test_fifty_kills_leave_the_bytes_of_a_run_left_alone(tmp_path: Path) -> None:
    found = killed_runs(tmp_path)
    assert sum(found["left"].values()) == 50
    assert max(found["finished_after_kills"]) >= 2
    assert found["left"]["part of a batch"] >= 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder on a disk of 44 KiB, where this user may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=44k", "tmpfs", str(place)]
    try:
        done = subprocess.run(words, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("no `mount`: the test of gatt.runs.store limits the size of files instead")
    if done.returncode:
        pytest.skip("mounting is not permitted: the test of gatt.runs.store limits files instead")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_one_line_and_what_was_written_stays(
    tmp_path: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "provenance", lambda: {"commit": None})
    config = synth_config(tmp_path, num_samples=24)
    whole = make(config)[0].samples.read_bytes()
    on_disk = replace(config, output_dir=small_disk / "out")
    with pytest.raises(StoreError, match=r"samples\.jsonl: no space left"):
        make(on_disk)
    path = on_disk.output_dir / "samples.jsonl"
    kept = path.read_bytes()
    assert kept.endswith(b"\n")
    assert whole.startswith(kept)
    assert 0 < kept.count(b"\n") < 24
    with pytest.raises(StoreError, match="no space left"):
        make(on_disk)
    assert path.read_bytes() == kept
    subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)
    make(on_disk)
    assert path.read_bytes() == whole
