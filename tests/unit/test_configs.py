"""Every YAML under configs/ is read by the class that will read it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from accelerate.commands.config.config_args import load_config_from_file

from data_synth.config import SynthConfig
from eval.config import EvalConfig
from eval.studies.perplexity import PerplexityConfig
from gatt.commands.run.command import load_run
from gatt.config.load import config_dict, load_config
from gatt.train.config import TrainConfig

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
CLASSES = {
    "recipes": TrainConfig, "synth": SynthConfig, "train": TrainConfig,
    "eval": EvalConfig, "perplexity": PerplexityConfig,
}  # fmt: skip
FILES = sorted(CONFIGS.rglob("*.y*ml"))


def read(path: Path) -> object:
    folder = path.relative_to(CONFIGS).parent.name
    if folder in ("evidence", "qwen"):
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


@pytest.mark.parametrize("path", [p for p in FILES if p.parent == CONFIGS], ids=lambda p: p.name)
def test_stages_of_a_whole_run_hand_on_their_output(path: Path) -> None:
    run = load_run(path)
    configs = {stage.name: stage.config for stage in run.stages}
    if {"synth", "train"} <= set(configs):
        assert configs["synth"].output_dir / "samples.jsonl" in configs["train"].samples
    if {"train", "eval"} <= set(configs):
        assert configs["train"].output_dir / "adapter" in configs["eval"].adapters.values()


def leaves(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


@pytest.mark.parametrize(
    ("cls", "required"),
    [
        (SynthConfig, ["output_dir=out"]),
        (TrainConfig, ["output_dir=out", "samples=[a.jsonl]"]),
        (EvalConfig, ["output_dir=out"]),
        (PerplexityConfig, ["output=out.json"]),
    ],
)
def test_a_key_set_to_what_it_is_changes_no_other(cls: type, required: list[str]) -> None:
    """Where a part has other defaults than its own class, one key of it must not bring those back."""
    values = config_dict(load_config(cls, None, required))
    nested = [(key, value) for key, value in leaves(values) if "." in key and value is not None]
    assert nested
    of_parts = {key.rpartition(".")[0]: (key, value) for key, value in nested}
    for key, value in of_parts.values():
        again = load_config(cls, None, [*required, f"{key}={json.dumps(value)}"])
        assert config_dict(again) == values, key


def test_help_tells_the_defaults_that_a_part_has_there(tmp_path: Path) -> None:
    found = load_config(EvalConfig, None, ["output_dir=out", "sampling.max_new_tokens=64"])
    assert (found.sampling.max_new_tokens, found.sampling.temperature) == (64, 0.0)
    # Files too, and a suite goes before the defaults and behind what is given.
    path = tmp_path / "eval.yaml"
    path.write_text("output_dir: out\nsource: {seed: 3}\n", encoding="utf-8")
    source = load_config(EvalConfig, path).source
    assert (source.seed, source.min_turns, source.max_turns) == (3, 20, 20)
    given = ["output_dir=out", "suite=switch", "switch.replace=0.1", "switch.add=0"]
    switch = load_config(EvalConfig, None, given).switch
    assert switch is not None
    assert (switch.replace, switch.add, switch.cancel, switch.min_turn) == (0.1, 0, 0.3, 10)
