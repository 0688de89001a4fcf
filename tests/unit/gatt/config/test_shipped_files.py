"""The configurations that come with the package, by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatt import cli
from gatt.config.load import CONFIGS, config_file, load_config, shipped_configs
from gatt.errors import ConfigError
from gatt.train.config import TrainConfig


def test_a_file_that_is_there_comes_before_a_name(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Nothing or a folder of that name is no file.
    (tmp_path / "demo").mkdir()
    assert config_file(Path("demo")) == CONFIGS / "demo.yaml"
    (tmp_path / "ci").write_text("output_dir: x\n", encoding="utf-8")
    assert config_file(Path("ci")) == Path("ci")
    assert config_file(Path("demo.yaml")) == Path("demo.yaml")


@pytest.mark.parametrize(
    ("name", "fact"), [("dmeo", "'demo'"), ("quite-another", "accelerate/cpu1, ")]
)
def test_a_name_that_is_neither(name: str, fact: str) -> None:
    with pytest.raises(ConfigError, match=f"'{name}'.*{fact}"):
        config_file(Path(name))


def test_a_stage_by_name() -> None:
    config = load_config(TrainConfig, Path("train/default"), ["max_steps=3"])
    assert config.max_steps == 3
    assert config.samples == load_config(TrainConfig, CONFIGS / "train" / "default.yaml").samples


def test_the_command_lists_prints_and_places(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["configs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(shipped_configs())
    assert any(line.startswith("demo ") and "whole pipeline" in line for line in lines)
    assert cli.main(["configs", "demo"]) == 0
    assert capsys.readouterr().out == (CONFIGS / "demo.yaml").read_text(encoding="utf-8")
    assert cli.main(["configs", "accelerate/ddp", "--path"]) == 0
    assert Path(capsys.readouterr().out.strip()) == CONFIGS / "accelerate" / "ddp.yaml"
