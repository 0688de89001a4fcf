"""`gatt synth` in parts: `--shard`, `--workers`, `status`, `verify`, `merge` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from data_synth import pipeline
from data_synth.config import SynthConfig
from data_synth.parallel import workers
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


def test_shards_from_the_command_line_to_the_merged_file(config, tmp_path, capsys) -> None:
    start = ["synth", "--config", str(tmp_path / "c.yaml")]
    folder = str(config.output_dir)
    assert main([*start, "--shard", "1/2"]) == 0
    assert "6 samples (6 new)" in (said := capsys.readouterr().out)
    assert said.endswith(
        f"; shard 1/2: join them with `gatt synth merge {folder}` once all are there\n"
    )
    assert main(["synth", "merge", folder]) == 2
    assert "no shard 2 of 2, expected all of them" in capsys.readouterr().err
    assert main(["synth", "verify", folder]) == 1
    *problems, last = capsys.readouterr().out.splitlines()
    assert len(problems) == 1
    assert last.startswith(f"{folder}: 1 problems in 6 samples with ")
    assert main(["synth", "status", folder]) == 0
    assert "shard 2/2: not begun" in capsys.readouterr().out
    assert main([*start, "--shard=2/2"]) == 0
    assert main(["synth", "merge", folder]) == 0
    assert "samples.jsonl: 10 samples, " in capsys.readouterr().out
    assert main(["synth", "verify", folder, "--recheck"]) == 0
    assert capsys.readouterr().out.startswith(f"{folder}: no problem in 20 samples with ")
    assert main(start) == 0
    assert "10 samples (all of them stood there already)" in capsys.readouterr().out
    assert main([*start, "--shard", "1/1"]) == 0
    assert "; card: " in capsys.readouterr().out


def test_workers_are_asked_for_by_number(config, tmp_path, monkeypatch, capsys) -> None:
    asked = []

    def run_workers(config: SynthConfig, num: int) -> pipeline.SynthResult:
        asked.append((config.num_samples, num))
        return pipeline.SynthResult(config.output_dir / "samples.jsonl", 4, 9, 12, 4)

    monkeypatch.setattr(workers, "run_workers", run_workers)
    words = ["synth", "--config", str(tmp_path / "c.yaml"), "--workers", "3", "--num_samples=4"]
    assert main(words) == 0
    assert asked == [(4, 3)]
    assert "4 samples (4 new), 9 targets for 12 turns; card: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--shard", "3/2"], "shard 3/2: expected K/N with K from 1 to N, such as 2/8"),
        (["--shard", "1/2", "--workers", "2"], "not allowed with argument --shard"),
        (["--workers", "many"], "argument --workers: invalid int value: 'many'"),
        (["--workers", "0"], "--workers is 0: expected at least 1"),
    ],
)
def test_a_division_that_makes_no_sense_is_one_line(
    config, tmp_path, capsys, words, message
) -> None:
    assert main(["synth", "--config", str(tmp_path / "c.yaml"), *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_an_unknown_action_names_the_nearest(capsys) -> None:
    assert main(["synth", "mrege", "runs/x"]) == 2
    assert capsys.readouterr().err == "gatt: unknown argument 'mrege', did you mean 'merge'?\n"
    assert main(["synth", "status"]) == 2
    assert "the following arguments are required: FOLDER (see `gatt synth status --help`)" in (
        capsys.readouterr().err
    )


def test_help_tells_of_the_actions_and_of_each(capsys) -> None:
    assert main(["synth", "--help"]) == 0
    said = capsys.readouterr().out
    for words in ("synth merge FOLDER", "--shard K/N", "--workers N", "  batch_samples: int"):
        assert words in said
    assert main(["synth", "verify", "--help"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("usage: gatt synth verify ")
    assert "--recheck" in said


def test_bare_overrides_still_work(config, tmp_path, capsys) -> None:
    assert main(["synth", "--config", str(tmp_path / "c.yaml"), "num_samples=2"]) == 0
    assert json.loads((config.output_dir / "source.json").read_text())["num_kept"] == 6
    assert "2 samples (2 new)" in capsys.readouterr().out
