"""`gatt run` starts several processes itself: DDP and FSDP2 give one adapter, interrupted or not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from gatt.config.load import config_dict
from gatt.runs.values import dump_yaml
from gatt.train.config import LaunchSettings, TrainConfig
from tests.support.models.tiny import sample, save_tiny_model, write_samples
from tests.support.texts.doc_pages import ROOT

pytestmark = [pytest.mark.processes, pytest.mark.timeout(400)]
NUM_STEPS = 40
ON_SHARDS = """
import os
if "LOCAL_RANK" in os.environ:
    os.environ.pop("ACCELERATE_USE_CPU", None)
    from tests.support.sharding.cpu_shards import shard_on_cpu
    shard_on_cpu()
"""
"""Read by Python as it starts: the processes that train take CPUs for GPUs."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("launched")
    save_tiny_model(folder / "model")
    write_samples(folder / "samples.jsonl", [sample(n, 1 + n % 3) for n in range(5)])
    (folder / "sitecustomize.py").write_text(ON_SHARDS, encoding="utf-8")
    settings = TrainConfig(
        model=str(folder / "model"), samples=(folder / "samples.jsonl",), output_dir=folder / "run",
        launch=LaunchSettings(num_processes=2), gradient_accumulation_steps=4, max_steps=NUM_STEPS,
        learning_rate=1e-4, save_steps=1, logging_steps=50, report_to="none",
    )  # fmt: skip
    run = {"output_dir": str(folder / "run"), "train": config_dict(settings)}
    (folder / "two.yaml").write_text(dump_yaml(run), encoding="utf-8")
    return folder


def started(folder: Path, *words: str, shards: bool = False) -> subprocess.Popen[str]:
    path = f"{folder}{os.pathsep}{ROOT}" if shards else str(ROOT)
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "gatt", *words],
        env=env, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # A shell lets what it starts in the background ignore Ctrl-C, and so would this process.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def ended(folder: Path, *words: str, **more: Any) -> tuple[int, str, str]:
    process = started(folder, *words, **more)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def test_an_interrupted_run_goes_on_to_the_adapter_of_a_sharded_one(folder: Path) -> None:
    process = started(folder, "run", "two.yaml", "--train.output_dir=stopped")
    try:
        while not list((folder / "stopped").glob("checkpoint-*/trainer_state.json")):
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in err
    more: dict[str, list[str]] = {
        "stopped": [],
        "sharded": ["--train.launch.config_file=accelerate/fsdp2"],
    }
    found = {}
    for name, words in more.items():
        out_dir = f"--train.output_dir={name}"
        code, out, err = ended(folder, "run", "two.yaml", out_dir, *words, shards=name == "sharded")
        assert code == 0, err
        assert ("going on from" in err) == (name == "stopped")
        assert f"2 processes by accelerate/{'fsdp2' if words else 'ddp'}" in err
        assert f"trained: {NUM_STEPS} steps" in out
        record = json.loads((folder / name / "train.json").read_text(encoding="utf-8"))
        assert record["identity"]["world_size"] == 2
        found[name] = load_file(folder / name / "adapter" / "adapter_model.safetensors")
    for key, expected in found["stopped"].items():
        assert torch.allclose(found["sharded"][key], expected, rtol=1e-3, atol=1e-5), key
