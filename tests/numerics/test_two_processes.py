"""Two processes take their folder as one and share the cases of a tracked run, and none waits for ever.

What two processes learn stands in `test_sharded_training`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gatt.config.load import save_config
from gatt.train.run_folder import TrainStore
from tests.support.models.tiny import save_tiny_model
from tests.support.models.tracked import SHORT, tracked_config, write_suite
from tests.support.sharding.launch import ON_CPU, launched


@pytest.mark.processes
def test_a_run_in_use_is_refused_and_a_free_one_measures_each_case_once(tmp_path: Path) -> None:
    suite = write_suite(tmp_path, [SHORT, None, None])
    config = tracked_config(
        tmp_path, save_tiny_model(tmp_path / "model"), suite, save_steps=4, max_steps=4
    )
    save_config(config, tmp_path / "train.yaml")
    words = ("-m", "gatt.train", "--config", str(tmp_path / "train.yaml"))

    lock = TrainStore(config.output_dir, {}).lock()
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
    assert done.stdout.count("trained: 4 steps") == 1
    assert done.stdout.count("adhered best at step 2 (0%)") == 1
    record = json.loads((config.output_dir / "train.json").read_text(encoding="utf-8"))
    assert record["identity"]["world_size"] == 2
    state = config.output_dir / "checkpoint-4" / "trainer_state.json"
    history = json.loads(state.read_text(encoding="utf-8"))["log_history"]
    tracked = [entry for entry in history if "eval_adherence/seconds" in entry]
    assert [entry["step"] for entry in tracked] == [2, 4]
    # Two of three cases are undecided at both turns, wherever they were asked.
    assert [entry["eval_adherence/num_undecided"] for entry in tracked] == [4, 4]
    assert [entry["eval_adherence/turn_3"] for entry in tracked] == [0.0, 0.0]
