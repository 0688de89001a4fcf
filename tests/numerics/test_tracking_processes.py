"""Two processes share the cases of a tracked run, and none waits for the other for ever."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gatt.config.load import save_config
from tests.support.models.tiny import save_tiny_model
from tests.support.models.tracked import SHORT, tracked_config, write_suite

ROOT = Path(__file__).resolve().parents[2]
ACCELERATE = (
    "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1",
    "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0",
)  # fmt: skip


@pytest.mark.processes
def test_two_processes_measure_each_case_once(tmp_path: Path) -> None:
    suite = write_suite(tmp_path, [SHORT, None, None])
    config = tracked_config(
        tmp_path, save_tiny_model(tmp_path / "model"), suite, save_steps=4, max_steps=4
    )
    save_config(config, tmp_path / "train.yaml")
    env = {
        **os.environ,
        "ACCELERATE_USE_CPU": "true",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
        "HF_HUB_OFFLINE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", *ACCELERATE, "-m", "gatt.train", "--config", str(tmp_path / "train.yaml")],
        env=env, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    identity = json.loads((config.output_dir / "train.json").read_text(encoding="utf-8"))
    assert identity["identity"]["world_size"] == 2
    state = config.output_dir / "checkpoint-4" / "trainer_state.json"
    history = json.loads(state.read_text(encoding="utf-8"))["log_history"]
    tracked = [entry for entry in history if "eval_adherence/seconds" in entry]
    assert [entry["step"] for entry in tracked] == [2, 4]
    # Two of three cases are undecided at both turns, wherever they were asked.
    assert [entry["eval_adherence/num_undecided"] for entry in tracked] == [4, 4]
    assert [entry["eval_adherence/turn_3"] for entry in tracked] == [0.0, 0.0]
    assert done.stdout.count("adhered best at step 2 (0%)") == 1
