"""One process, DDP, FSDP2, ZeRO-2 and ZeRO-3 on two processes: the same losses, adapters and resumes.

Two processes of the CPU really shard the weights (`tests.support.sharding.cpu_shards`). All runs of a back
end share one launch (`tests.support.sharding.runs`). DeepSpeed is an extra; without it its part is skipped.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from gatt.errors import ConfigError
from gatt.train.run import train
from tests.support.sharding.launch import ON_CPU, launched, run_module
from tests.support.sharding.runs import NUM_STEPS, RESUMED, RUNS, config_of, prepare_folder
from tests.support.texts.doc_pages import ROOT

pytestmark = pytest.mark.processes

NEEDS_DEEPSPEED = pytest.mark.skipif(
    importlib.util.find_spec("deepspeed") is None, reason="deepspeed, an extra, is not installed"
)
KINDS = [
    pytest.param("ddp", "MULTI_CPU"),
    pytest.param("fsdp2", "FSDP"),
    pytest.param("zero2", "DEEPSPEED", marks=NEEDS_DEEPSPEED),
    pytest.param("zero3", "DEEPSPEED", marks=NEEDS_DEEPSPEED),
]
SHARDS = str(ROOT / "tests" / "support" / "sharding" / "cpu_shards.py")
TOLERANCE = 1e-6
"""Relative, and 1e-3 for `bf16` under DeepSpeed, which rounds the gradients of each process; its adapter
may be further off, where a gradient near zero changes its sign."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    prepare_folder(folder)
    return folder


def outcome(
    done: subprocess.CompletedProcess[str], folder: Path, name: str, runtime: list[Any]
) -> Any:
    """Return what each run of a launch gave, which Accelerate took for so many processes of a kind."""
    assert done.returncode == 0, done.stderr[-6000:]
    found = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    assert found.pop("runtime") == runtime
    return found


@pytest.fixture(scope="module")
def one(folder: Path) -> Any:
    done = run_module(folder, "tests.support.sharding.runs", str(folder), "one")
    return outcome(done, folder, "one", [1, "NO"])


def weights(outcome: dict[str, Any]) -> dict[str, torch.Tensor]:
    return load_file(Path(outcome["adapter"]) / "adapter_model.safetensors")


def error(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> float:
    assert {k: (v.dtype, v.shape) for k, v in found.items()} == {
        k: (v.dtype, v.shape) for k, v in expected.items()
    }
    square = sum(float((found[k] - expected[k]).square().sum()) for k in expected)
    return float((square / sum(float(v.square().sum()) for v in expected.values())) ** 0.5)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_two_processes_train_what_one_trains(name, kind, folder, one) -> None:
    words = ("tests.support.sharding.runs", str(folder), name)
    # DDP needs no help to run on a CPU.
    is_plain = kind == "MULTI_CPU"
    env = ON_CPU if is_plain else {"TORCH_EXTENSIONS_DIR": str(folder / "extensions")}
    done = launched(folder, name, "-m" if is_plain else SHARDS, *words, **env)
    two = outcome(done, folder, name, [2, kind])
    assert two.keys() == one.keys() >= RUNS.keys()
    assert len(one["kl"]["plain_kl"]) > 1
    assert one["kl"]["plain_kl"][-1] > 0
    assert one["preference"]["rewards/margins"][-1] != 0
    assert one["distil"]["distil_kl"][-1] > 0
    for run_name, expected in one.items():
        found = two[run_name]
        is_rounded = kind == "DEEPSPEED" and run_name.startswith("bf16")
        most = 1e-3 if is_rounded else TOLERANCE
        assert len(found["loss"]) == NUM_STEPS
        assert found["num_supervised_tokens"] == expected["num_supervised_tokens"], run_name
        for key in expected.keys() - {"adapter"}:
            assert found[key] == pytest.approx(expected[key], rel=most, abs=1e-7), (run_name, key)
        most_error = 1e-2 if is_rounded else TOLERANCE
        assert error(weights(found), weights(expected)) < most_error, run_name
    for run_name in RESUMED:
        resumed, whole = weights(two[f"{run_name}-resumed"]), weights(two[run_name])
        assert error(resumed, whole) == 0, run_name


def test_sharding_that_would_be_ignored_is_refused(folder, monkeypatch) -> None:
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    with pytest.raises(ConfigError, match=r"FSDP.*ACCELERATE_USE_CPU"):
        train(config_of(folder, "cpu", "equal", 1))
    assert not (folder / "cpu").exists()
