"""A small run of `gatt synth`."""

from __future__ import annotations

from pathlib import Path

import pytest

from data_synth import run_folder
from data_synth.config import SynthConfig
from tests.support.runs.synth_runs import synth_config


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SynthConfig:
    """Return a run at no commit: runs are compared byte for byte, and somebody may commit meanwhile."""
    monkeypatch.setattr(run_folder, "provenance", lambda: {"commit": None})
    return synth_config(tmp_path)
