"""Every YAML of configs/ and of the evidence is read by its class, launch lines by Accelerate."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from accelerate.commands.config.config_args import load_config_from_file
from accelerate.commands.launch import _validate_launch_command, launch_command_parser

from data_synth.config import SynthConfig
from eval.config import EvalConfig
from eval.perplexity import PerplexityConfig
from gatt.config.load import config_dict, load_config
from gatt.stages.run_file import load_run
from gatt.train.config import TrainConfig

ROOT = Path(__file__).resolve().parents[2]
CONFIGS, EVIDENCE = ROOT / "configs", ROOT / "scripts" / "research" / "evidence"
CLASSES = {
    "recipes": TrainConfig, "synth": SynthConfig, "train": TrainConfig,
    "eval": EvalConfig, "perplexity": PerplexityConfig,
}  # fmt: skip
FILES = sorted([*CONFIGS.rglob("*.y*ml"), *EVIDENCE.rglob("*.y*ml")])


def read(path: Path) -> object:
    folder = path.parent.name
    if folder == "gpu" or path.stem == "perplexity":
        return load_config(CLASSES[path.stem], path)
    if folder in CLASSES:
        return load_config(CLASSES[folder], path)
    if folder == "accelerate":
        return load_config_from_file(str(path))
    if folder in ("configs", "evidence"):
        return load_run(path)
    raise AssertionError(f"{path}: no class reads the YAML files of this folder")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
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
    assert (switch.replace, switch.add, switch.cancel, switch.min_turn) == (0.1, 0, 0.3, 10)


LAUNCHED = sorted((CONFIGS / "accelerate").glob("*.yaml"))
KIND = {"cpu1": None, "fsdp2": "use_fsdp", "zero2": "use_deepspeed", "zero3": "use_deepspeed"}


def launch_lines(path: Path) -> list[str]:
    """Return the command lines of a file's header, those inside a shell's quotes without them."""
    header = [line[1:].strip() for line in path.read_text(encoding="utf-8").splitlines()
              if line.startswith("#")]  # fmt: skip
    found = [re.search(r"accelerate launch [^']*", line) for line in header]
    return [match[0] for match in found if match]


LINES = [pytest.param(path, line, id=f"{path.stem}-{number}")
         for path in LAUNCHED for number, line in enumerate(launch_lines(path))]  # fmt: skip


def test_every_file_has_a_line_and_those_for_many_processes_one_for_many_machines() -> None:
    for path in LAUNCHED:
        # In float32 with one process; else the training configuration decides, not the launcher.
        assert load_config_from_file(str(path)).mixed_precision == "no"
        assert launch_lines(path), path
        for line in launch_lines(path):
            assert f"--config_file configs/accelerate/{path.name} " in line
        if path.stem != "cpu1":
            assert any("--main_process_ip" in line for line in launch_lines(path)), path


@pytest.mark.parametrize(("path", "line"), LINES)
def test_a_launch_line_starts_the_training_that_the_file_describes(path, line, monkeypatch) -> None:
    monkeypatch.chdir(CONFIGS.parent)
    parser = launch_command_parser()
    words = shlex.split(line.replace("$SLURM_NODEID", "1"))[2:]
    known = {option for action in parser._actions for option in action.option_strings}
    options = {word for word in words[: words.index("-m")] if word.startswith("-")}
    assert options <= known
    args, _, _ = _validate_launch_command(parser.parse_args(words))
    ways = ("multi_gpu", "use_fsdp", "use_deepspeed")
    way = KIND.get(path.stem, "multi_gpu")
    assert [name for name in ways if getattr(args, name)] == ([way] if way else [])
    assert args.num_processes % args.num_machines == 0
    if "--main_process_ip" in line:
        assert (args.num_machines, args.num_processes, args.main_process_port) == (2, 16, 29500)
        assert args.machine_rank in (0, 1)
        assert args.rdzv_backend == "static"
    else:
        assert args.num_machines == 1
    assert args.module
    assert args.training_script == "gatt.train"
    assert args.training_script_args[0] == "--config"
    # The configuration's defaults are those of a run that exists; the file itself must.
    assert Path(args.training_script_args[1]).is_file()
