"""Tiny models, data and finished runs that commands are given, and the runner of a row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.hostile.commands import Row, hold
from tests.support.hostile.world import make_world

Run = Callable[[Row], None]


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return make_world(tmp_path_factory.mktemp("world"))


@pytest.fixture
def run(
    world: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Run:
    monkeypatch.chdir(tmp_path)
    # Nothing is looked for on the hub.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    return lambda row: hold(row, world, monkeypatch, capfd)
