"""Every YAML under configs/ is read by the class that will read it."""

from __future__ import annotations

from pathlib import Path

import pytest
from accelerate.commands.config.config_args import load_config_from_file

from data_synth.config import SynthConfig
from eval.config import EvalConfig
from eval.perplexity import PerplexityConfig
from gatt.config import load_config
from gatt.errors import ConfigError
from gatt.run import load_run
from gatt.train_config import TrainConfig

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
CLASSES = {
    "recipes": TrainConfig,
    "synth": SynthConfig,
    "train": TrainConfig,
    "eval": EvalConfig,
    "perplexity": PerplexityConfig,
}
FILES = sorted(CONFIGS.rglob("*.y*ml"))


def read(path: Path) -> object:
    folder = path.relative_to(CONFIGS).parent.name
    if folder == "evidence":
        return load_config(CLASSES[path.stem.partition("_")[0]], path)
    if folder in CLASSES:
        return load_config(CLASSES[folder], path)
    if folder == "accelerate":
        return load_config_from_file(str(path))
    if folder == "":
        return load_run(path)
    raise AssertionError(f"{path}: no class reads the YAML files of this folder")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CONFIGS)))
def test_every_configuration_is_valid(path: Path) -> None:
    assert read(path) is not None


def test_there_are_configurations_of_the_demo_and_of_training() -> None:
    names = {str(path.relative_to(CONFIGS)) for path in FILES}
    assert {"demo.yaml", "train/default.yaml"} <= names


@pytest.mark.parametrize("path", [p for p in FILES if p.parent == CONFIGS], ids=lambda p: p.name)
def test_stages_of_a_whole_run_hand_on_their_output(path: Path) -> None:
    run = load_run(path)
    configs = {stage.name: stage.config for stage in run.stages}
    if {"synth", "train"} <= set(configs):
        assert configs["synth"].output_dir / "samples.jsonl" in configs["train"].samples
    if {"train", "eval"} <= set(configs):
        assert configs["train"].output_dir / "adapter" in configs["eval"].adapters.values()


@pytest.mark.parametrize(
    ("cls", "key"), [(SynthConfig, "teacher.sampling.seed"), (EvalConfig, "sampling.seed")]
)
def test_a_stage_has_one_seed_of_its_draws(cls: type, key: str) -> None:
    with pytest.raises(ConfigError, match=rf"unknown key '{key}', did you mean 'seed'\?"):
        load_config(cls, None, ["output_dir=x", f"{key}=1"])


def test_a_misspelt_key_is_caught(tmp_path: Path) -> None:
    text = (CONFIGS / "demo.yaml").read_text(encoding="utf-8")
    path = tmp_path / "demo.yaml"
    path.write_text(text.replace("num_samples", "num_sample"), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"unknown key 'synth.num_sample', did you mean"):
        load_run(path)
