"""`gatt synth` from the command line: overrides, `--workers`, and words that are none of its actions."""

from __future__ import annotations

from pathlib import Path

import pytest

from data_synth import pipeline
from data_synth.config import SynthConfig
from gatt.cli import main
from gatt.config.load import save_config
from tests.support.runs.stages import RecordingEngine
from tests.support.runs.synth_runs import synth_config, varied_reply


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SynthConfig:
    monkeypatch.setattr(pipeline, "provenance", lambda: {"commit": None})
    monkeypatch.setattr(pipeline, "make_engine", lambda *_: RecordingEngine(varied_reply))
    config = synth_config(tmp_path)
    save_config(config, tmp_path / "c.yaml")
    return config


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (["--workers", "many"], ("--workers", "'many'")),
        (["--workers", "0"], ("--workers", "0")),
        (["--workers", "2", "--ray.num_workers=2"], ("--workers", "ray.num_workers")),
        (["mrege"], ("'mrege'",)),
    ],
)
def test_words_that_make_no_sense_are_one_line(config, tmp_path, capsys, words, facts) -> None:
    assert main(["synth", *words, "--config", str(tmp_path / "c.yaml")]) == 2
    error = capsys.readouterr().err
    assert [fact for fact in facts if fact not in error] == []
    assert error.count("\n") == 1


def test_help_tells_of_the_actions_and_the_options(capsys) -> None:
    assert main(["synth", "--help-all"]) == 0
    said = capsys.readouterr().out
    for words in ("--workers N", "  batch_samples: int"):
        assert words in said
