"""Under `accelerate launch` one process takes the folder, and no other is left waiting for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gatt.config.load import save_config
from gatt.train.run_folder import TrainStore
from tests.support.models.tiny import sample, save_tiny_model, tiny_run, write_samples
from tests.support.sharding.launch import ON_CPU, launched


@pytest.mark.processes
def test_a_second_run_ends_while_the_first_one_trains(tmp_path: Path) -> None:
    samples = write_samples(tmp_path / "s.jsonl", [sample(i, 2) for i in range(4)])
    model = save_tiny_model(tmp_path / "model")
    config = tiny_run(model, samples, tmp_path / "out", max_steps=1)
    save_config(config, tmp_path / "c.yaml")

    lock = TrainStore(config.output_dir, {}).lock()
    words = ("-m", "gatt.train", "--config", str(tmp_path / "c.yaml"))
    refused = launched(tmp_path, "ddp", *words, **ON_CPU)
    assert refused.returncode != 0
    said = [x for x in refused.stderr.splitlines() if x.startswith("gatt: ")]
    assert len(said) == 1, refused.stderr[-4000:]
    assert f"pid {os.getpid()})" in said[0]
    # What a process says that is left alone in a collective.
    assert "RuntimeError" not in refused.stderr
    assert [p.name for p in config.output_dir.iterdir()] == ["train.json.lock"]

    lock.release()
    done = launched(tmp_path, "ddp", *words, **ON_CPU)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.splitlines()[-1].startswith("trained: 1 steps")
    assert done.stdout.count("trained: 1 steps") == 1
