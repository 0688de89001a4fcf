"""How a training is shared among processes."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from gatt.commands import launch
from gatt.commands.launch import Launch, leave_outcome, planned_launch, shared
from gatt.errors import ConfigError, ToldByMainError, TrainingError
from gatt.stages.machine import Machine
from gatt.train.config import LaunchSettings, TrainConfig

CONFIG = TrainConfig(samples=(Path("s.jsonl"),), output_dir=Path("out"))


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch):
    def have(number: int, memory: float = 80e9) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: number > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: number)
        monkeypatch.setattr(
            Machine, "here", lambda: Machine(int(memory), "cuda", has_bfloat16=True)
        )

    for name in launch._LAUNCHED:
        monkeypatch.delenv(name, raising=False)
    return have


@pytest.mark.parametrize(
    ("batch", "processes", "expected"),
    [
        ((1, 8), 2, (1, 4)), ((1, 8), 8, (1, 1)), ((4, 2), 8, (1, 1)), ((4, 3), 2, (3, 2)),
        ((4, 3), 4, (3, 1)), ((2, 5), 5, (2, 1)), ((6, 1), 3, (2, 1)),
    ],
)  # fmt: skip
def test_a_step_keeps_its_rows(batch, processes, expected) -> None:
    size, steps = batch
    found = shared(
        replace(CONFIG, per_device_train_batch_size=size, gradient_accumulation_steps=steps),
        processes,
    )
    assert (found.per_device_train_batch_size, found.gradient_accumulation_steps) == expected
    assert processes * expected[0] * expected[1] == size * steps


def test_a_batch_that_cannot_be_shared_names_one_that_can() -> None:
    with pytest.raises(ConfigError, match="gradient_accumulation_steps=9"):
        shared(CONFIG, 3)


@pytest.mark.parametrize(
    ("num", "model", "settings", "expected"),
    [
        (0, "x-8b", {}, None),
        (1, "x-8b", {}, None),
        (4, "x-8b", {}, (4, "ddp")),
        (4, "x-70b", {}, (4, "fsdp2")),
        (4, "x-8b", {"num_processes": 1}, None),
        (4, "x-8b", {"num_processes": 2}, (2, "ddp")),
        (4, "x-8b", {"config_file": "accelerate/zero3"}, (4, "zero3")),
        (0, "x-8b", {"num_processes": 2}, (2, "ddp")),
    ],
)
def test_all_visible_gpus_train(gpus, num, model, settings, expected) -> None:
    gpus(num)
    found = planned_launch(replace(CONFIG, model=model, launch=LaunchSettings(**settings)))
    assert (found and (found.num_processes, found.config_file.stem)) == expected


def test_what_cannot_be_launched(gpus, monkeypatch: pytest.MonkeyPatch) -> None:
    gpus(2)
    with pytest.raises(ConfigError, match="at most 2"):
        planned_launch(replace(CONFIG, launch=LaunchSettings(num_processes=4)))
    # The processes that a launcher started train themselves.
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert planned_launch(CONFIG) is None


@pytest.mark.parametrize(
    ("left", "code", "expected"),
    [
        ("summary", 0, "trained: 2 steps"),
        ("summary", 1, TrainingError),
        ("error", 0, ToldByMainError),
        ("", 0, TrainingError),
        ("", 3, TrainingError),
    ],
)
def test_what_the_processes_left(tmp_path, monkeypatch, left, code, expected) -> None:
    text = f"""
import os, sys
from gatt.commands.launch import leave_outcome
if {left!r}:
    assert leave_outcome({left!r}, "trained: 2 steps")
sys.exit({code})
"""
    monkeypatch.setattr(Launch, "_command", lambda self, path: [sys.executable, "-c", text])
    launched = Launch(
        replace(CONFIG, output_dir=tmp_path / "out"), Path("ddp.yaml"), 2, 1, "as set"
    )
    if isinstance(expected, str):
        assert launched.run() == expected
    else:
        with pytest.raises(expected):
            launched.run()
    assert (tmp_path / "out" / "launch.yaml").exists()


def test_what_no_command_launched_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(launch.OUTCOME, raising=False)
    assert not leave_outcome("summary", "trained")
