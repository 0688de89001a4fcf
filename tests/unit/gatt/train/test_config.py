from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gatt.errors import ConfigError
from gatt.train.config import LoraSettings, TrackConfig, TrainConfig

CONFIGS = Path(__file__).resolve().parents[4] / "configs"
ACCELERATE = sorted((CONFIGS / "accelerate").glob("*.yaml"))


@pytest.mark.parametrize("path", ACCELERATE, ids=lambda p: p.name)
def test_shipped_launch_configurations_are_accelerate_s_own(path: Path) -> None:
    from accelerate.commands.config.config_args import load_config_from_file

    loaded = load_config_from_file(str(path))
    # In float32 with one process; else the training configuration decides, not the launcher.
    assert loaded.mixed_precision == "no"
    text = path.read_text(encoding="utf-8")
    assert f"--config_file configs/accelerate/{path.name}" in text
    assert yaml.safe_load(text)["distributed_type"] == str(loaded.distributed_type.value)


@pytest.mark.parametrize(
    ("cls", "changes", "fact"),
    [
        (TrainConfig, {"samples": ()}, "samples is empty"),
        (TrainConfig, {"max_length": 0}, "max_length is 0"),
        (TrainConfig, {"max_turns": 0}, "max_turns is 0"),
        (TrainConfig, {"gradient_accumulation_steps": 0}, "gradient_accumulation_steps is 0"),
        (TrainConfig, {"learning_rate": 0.0}, "learning_rate is 0.0"),
        (TrainConfig, {"learning_rate": float("nan")}, "learning_rate is nan"),
        (TrainConfig, {"warmup_steps": -1.0}, "warmup_steps is -1.0"),
        (TrainConfig, {"max_steps": 0}, "max_steps is 0"),
        (TrainConfig, {"max_tokens_per_row": 100}, r"max_tokens_per_row is 100.*2048"),
        (TrainConfig, {"plain_kl_coef": float("inf")}, "plain_kl_coef is inf"),
        (LoraSettings, {"r": 0}, "r is 0"),
        (TrackConfig, {"every_steps": 0}, "every_steps is 0"),
        (TrackConfig, {"turns": ()}, r"turns is \[\]: expected rising turns from 1 on"),
        (TrackConfig, {"turns": (2, 1)}, r"turns is \[2, 1\]"),
        (TrackConfig, {"turns": (0,)}, r"turns is \[0\]"),
        (LoraSettings, {"lora_alpha": 0}, "lora_alpha is 0"),
        (LoraSettings, {"lora_dropout": 1.0}, "lora_dropout is 1.0"),
        (LoraSettings, {"target_modules": ()}, "target_modules is empty"),
    ],
)
def test_refuses_values_out_of_range(cls: type, changes: dict[str, Any], fact: str) -> None:
    needed = {"samples": (Path("s.jsonl"),), "output_dir": Path("out")}
    with pytest.raises(ConfigError, match=fact):
        cls(**({**needed, **changes} if cls is TrainConfig else changes))
