"""Two real processes: the gradients of one with twice the accumulation, and a tracked run's cases shared.

Whole runs, expanded rows among them, stand in `test_sharded_training`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from gatt.config.load import save_config
from gatt.train.config import TrainConfig
from tests.support.models.first_step import first_steps
from tests.support.models.tiny import sample, save_tiny_model, write_samples
from tests.support.models.tracked import SHORT, tracked_config, write_suite

ROOT = Path(__file__).resolve().parents[2]
ACCELERATE = (
    "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1",
    "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0",
)  # fmt: skip
TOLERANCE = 1e-5


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a module of Python on the CPU."""
    env = {
        **os.environ,
        "ACCELERATE_USE_CPU": "true",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
        "HF_HUB_OFFLINE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", *words],
        env=env, cwd=folder, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return done


def relative_error(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> float:
    assert found.keys() == expected.keys()
    difference = sum(float((found[k] - expected[k]).square().sum()) for k in expected)
    return (difference / sum(float(v.square().sum()) for v in expected.values())) ** 0.5


@pytest.mark.processes
def test_two_processes_equal_one_with_twice_the_accumulation(tmp_path: Path) -> None:
    # Turns differ from sample to sample, and one sample has a single short target: a mean of the
    # processes' means would be another number.
    # The first is plain and learned by the KL divergence, in a forward pass that one process makes alone.
    samples = [sample(i, num_turns=1 + i % 3, is_plain=i == 0) for i in range(5)]
    settings: dict[str, Any] = {
        "model": str(save_tiny_model(tmp_path / "model")),
        "samples": (write_samples(tmp_path / "samples.jsonl", samples),),
        "plain_loss": "kl",
        "logging_steps": 1,
        "max_grad_norm": 0.0,
        "disable_tqdm": True,
        "report_to": "none",
    }
    config = TrainConfig(output_dir=tmp_path / "2", gradient_accumulation_steps=2, **settings)
    path, output = tmp_path / "two.yaml", tmp_path / "two.pt"
    save_config(config, path)
    run(tmp_path, *ACCELERATE, "-m", "tests.support.models.first_step", str(path), str(output))
    two = torch.load(output, weights_only=True)
    one = first_steps(
        TrainConfig(output_dir=tmp_path / "1", gradient_accumulation_steps=4, **settings)
    )
    assert two["world_size"] == 2
    assert one["world_size"] == 1
    assert one["num_padding_rows"] == two["num_padding_rows"] == 3
    assert one["num_supervised_tokens"] == two["num_supervised_tokens"] > 0
    assert two["plain_kl"] == pytest.approx(one["plain_kl"], rel=TOLERANCE)
    assert one["plain_kl"][0] > 0
    assert two["losses"] == pytest.approx(one["losses"], rel=TOLERANCE)
    # The same weights only in front of the first step: later ones differ by Adam's amplification.
    assert any("lora_A" in k and v.abs().sum() > 0 for k, v in one["gradients"][0].items())
    assert relative_error(two["gradients"][0], one["gradients"][0]) < TOLERANCE


@pytest.mark.processes
def test_two_processes_measure_each_case_once(tmp_path: Path) -> None:
    suite = write_suite(tmp_path, [SHORT, None, None])
    config = tracked_config(
        tmp_path, save_tiny_model(tmp_path / "model"), suite, save_steps=4, max_steps=4
    )
    save_config(config, tmp_path / "train.yaml")
    words = ("-m", "gatt.train", "--config", str(tmp_path / "train.yaml"))
    done = run(tmp_path, *ACCELERATE, *words)
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
