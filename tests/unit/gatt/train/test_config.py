from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gatt.config.load import load_config
from gatt.errors import ConfigError
from gatt.models.packaged.table import EMBEDDED
from gatt.train.config import LoraSettings, TrainConfig

CONFIGS = Path(__file__).resolve().parents[4] / "configs"
TRAIN = sorted((CONFIGS / "train").glob("*.yaml"))
ACCELERATE = sorted((CONFIGS / "accelerate").glob("*.yaml"))


def make(**changes: Any) -> TrainConfig:
    return TrainConfig(**{"samples": (Path("s.jsonl"),), "output_dir": Path("out"), **changes})


def test_the_default_model_is_the_embedded_one() -> None:
    assert make().model == EMBEDDED


@pytest.mark.parametrize("path", TRAIN, ids=lambda p: p.name)
def test_shipped_configurations_load(path: Path) -> None:
    assert load_config(TrainConfig, path).samples


@pytest.mark.parametrize("path", ACCELERATE, ids=lambda p: p.name)
def test_shipped_launch_configurations_are_accelerate_s_own(path: Path) -> None:
    from accelerate.commands.config.config_args import load_config_from_file

    loaded = load_config_from_file(str(path))
    # In float32 with one process; else the training configuration decides, not the launcher.
    assert loaded.mixed_precision == "no"
    text = path.read_text(encoding="utf-8")
    assert f"--config_file configs/accelerate/{path.name}" in text
    assert yaml.safe_load(text)["distributed_type"] == str(loaded.distributed_type.value)


def test_there_are_launch_configurations_for_every_way() -> None:
    assert {p.stem for p in ACCELERATE} == {"cpu1", "ddp", "ddp_nodes", "fsdp2", "zero2", "zero3"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"samples": ()}, "samples is empty: expected at least one file of `gatt synth`"),
        ({"max_length": 0}, "max_length is 0: expected at least 1"),
        ({"max_turns": 0}, "max_turns is 0: expected at least 1, or null for all"),
        ({"gradient_accumulation_steps": 0}, "gradient_accumulation_steps is 0: expected"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0: expected above 0"),
        ({"learning_rate": float("nan")}, "learning_rate is nan: expected above 0"),
        ({"warmup_steps": -1.0}, "warmup_steps is -1.0: expected at least 0"),
        ({"max_steps": 0}, "max_steps is 0: expected at least 1, or -1 for none"),
        (
            {"max_tokens_per_row": 100},
            r"max_tokens_per_row is 100: expected at least max_length \(2048\)",
        ),
    ],
)
def test_refuses_values_out_of_range(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"r": 0}, "r is 0: expected at least 1"),
        ({"lora_alpha": 0}, "lora_alpha is 0: expected at least 1"),
        ({"lora_dropout": 1.0}, "lora_dropout is 1.0: expected 0 <= lora_dropout < 1"),
        ({"target_modules": ()}, "target_modules is empty: expected names, or 'all-linear'"),
    ],
)
def test_refuses_an_impossible_adapter(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        LoraSettings(**changes)


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(ConfigError, match=r"max_length is 0.*; learning_rate is -1"):
        make(max_length=0, max_tokens_per_row=1, learning_rate=-1.0)


def test_dotted_overrides_reach_the_adapter() -> None:
    config = load_config(
        TrainConfig,
        CONFIGS / "train" / "smoke.yaml",
        ["lora.r=2", "bf16=false", "lora.target_modules=[q_proj]"],
    )
    assert config.lora.r == 2
    assert config.lora.target_modules == ("q_proj",)
    assert config.bf16 is False
