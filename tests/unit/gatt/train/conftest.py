"""Runs of the one training path on a tiny model."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.models.tiny import sample, save_tiny_model, tiny_run, write_samples


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def make(model: Path, tmp_path: Path) -> Any:
    path = write_samples(tmp_path / "samples.jsonl", [sample(i, 2) for i in range(3)])
    return partial(replace, tiny_run(model, path, tmp_path / "out"))
