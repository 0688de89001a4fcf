"""Runs of the one training path on a tiny model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gatt.train.config import TrainConfig
from tests.support.models.tiny import sample, save_tiny_model, write_samples


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def make(model: Path, tmp_path: Path) -> Any:
    path = write_samples(tmp_path / "samples.jsonl", [sample(i, 2) for i in range(3)])

    def build(**changes: Any) -> TrainConfig:
        settings: dict[str, Any] = {
            "model": str(model),
            "samples": (path,),
            "output_dir": tmp_path / "out",
            "max_steps": 2,
            "gradient_accumulation_steps": 1,
            "logging_steps": 1,
            "report_to": "none",
            "disable_tqdm": True,
        }
        return TrainConfig(**{**settings, **changes})

    return build
