"""Two real processes give the loss and the gradients of one with twice the accumulation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from gatt.config.load import save_config
from gatt.train.config import TrainConfig
from tests.support.models.tiny import sample, save_tiny_model, write_samples

ROOT = Path(__file__).resolve().parents[2]
TOLERANCE = 1e-5


def first_steps(folder: Path, name: str, command: list[str], config: TrainConfig) -> dict[str, Any]:
    path, output = folder / f"{name}.yaml", folder / f"{name}.pt"
    save_config(config, path)
    env = {
        **os.environ,
        "ACCELERATE_USE_CPU": "true",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
        "HF_HUB_OFFLINE": "1",
    }
    done = subprocess.run(
        [*command, "-m", "tests.support.models.first_step", str(path), str(output)],
        env=env, cwd=folder, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return torch.load(output, weights_only=True)


def relative_error(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> float:
    assert found.keys() == expected.keys()
    difference = sum(float((found[k] - expected[k]).square().sum()) for k in expected)
    return (difference / sum(float(v.square().sum()) for v in expected.values())) ** 0.5


@pytest.mark.processes
@pytest.mark.parametrize(("num_samples", "layout"), [(4, "comb"), (5, "comb"), (5, "expanded")])
def test_two_processes_equal_one_with_twice_the_accumulation(
    tmp_path: Path, num_samples: int, layout: Any
) -> None:
    # Turns differ from sample to sample, and one sample has a single short target: a mean of the
    # processes' means would be another number.
    # The first is plain and learned by the KL divergence, in a forward pass that one process makes alone.
    samples = [sample(i, num_turns=1 + i % 3, is_plain=i == 0) for i in range(num_samples)]
    settings: dict[str, Any] = {
        "model": str(save_tiny_model(tmp_path / "model")),
        "samples": (write_samples(tmp_path / "samples.jsonl", samples),),
        "layout": layout,
        "plain_loss": "kl",
        "logging_steps": 1,
        "max_grad_norm": 0.0,
        "disable_tqdm": True,
        "report_to": "none",
    }
    accelerate = [sys.executable, "-m", "accelerate.commands.launch"]
    two = first_steps(
        tmp_path,
        "two",
        [*accelerate, "--multi_gpu", "--num_processes", "2", "--num_machines", "1",
         "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0"],
        TrainConfig(output_dir=tmp_path / "2", gradient_accumulation_steps=2, **settings),
    )  # fmt: skip
    one = first_steps(
        tmp_path,
        "one",
        [sys.executable],
        TrainConfig(output_dir=tmp_path / "1", gradient_accumulation_steps=4, **settings),
    )
    assert two["world_size"] == 2
    assert one["world_size"] == 1
    assert one["num_padding_rows"] == two["num_padding_rows"] == -row_count(samples, layout) % 4
    assert one["num_supervised_tokens"] == two["num_supervised_tokens"] > 0
    assert two["plain_kl"] == pytest.approx(one["plain_kl"], rel=TOLERANCE)
    assert one["plain_kl"][0] > 0
    assert two["losses"] == pytest.approx(one["losses"], rel=TOLERANCE)
    # The same weights only in front of the first step: later ones differ by Adam's amplification.
    assert any("lora_A" in k and v.abs().sum() > 0 for k, v in one["gradients"][0].items())
    assert relative_error(two["gradients"][0], one["gradients"][0]) < TOLERANCE


def row_count(samples: list[Any], layout: str) -> int:
    return len(samples) if layout == "comb" else sum(s.num_targets for s in samples)
