"""The launch line in the header of each file of configs/accelerate/ is one that Accelerate takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from accelerate.commands.launch import _validate_launch_command, launch_command_parser

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "configs" / "accelerate").glob("*.yaml"))
KIND = {"cpu1": None, "fsdp2": "use_fsdp", "zero2": "use_deepspeed", "zero3": "use_deepspeed"}


def launch_lines(path: Path) -> list[str]:
    """Return the command lines of a file's header, those inside a shell's quotes without them."""
    header = [line[1:].strip() for line in path.read_text(encoding="utf-8").splitlines()
              if line.startswith("#")]  # fmt: skip
    found = [re.search(r"accelerate launch [^']*", line) for line in header]
    return [match[0] for match in found if match]


LINES = [pytest.param(path, line, id=f"{path.stem}-{number}")
         for path in FILES for number, line in enumerate(launch_lines(path))]  # fmt: skip


def resolved(line: str) -> Any:
    """Return what Accelerate makes of a line: its own options and those of the file."""
    parser = launch_command_parser()
    words = shlex.split(line.replace("$SLURM_NODEID", "1"))[2:]
    known = {option for action in parser._actions for option in action.option_strings}
    options = words[: words.index("-m")]
    assert [word for word in options if word.startswith("-") and word not in known] == []
    args, _, _ = _validate_launch_command(parser.parse_args(words))
    return args


def test_every_file_has_a_line_and_those_for_many_processes_one_for_many_machines() -> None:
    for path in FILES:
        assert launch_lines(path), path
        for line in launch_lines(path):
            assert f"--config_file configs/accelerate/{path.name} " in line
        if path.stem != "cpu1":
            assert any("--main_process_ip" in line for line in launch_lines(path)), path


@pytest.mark.parametrize(("path", "line"), LINES)
def test_a_launch_line_starts_the_training_that_the_file_describes(
    path: Path, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    args = resolved(line)
    ways = ("multi_gpu", "use_fsdp", "use_deepspeed")
    way = KIND.get(path.stem, "multi_gpu")
    assert [name for name in ways if getattr(args, name)] == ([way] if way else [])
    assert args.num_processes % args.num_machines == 0
    if "--main_process_ip" in line:
        assert (args.num_machines, args.num_processes, args.main_process_port) == (2, 16, 29500)
        assert args.machine_rank in (0, 1)
        assert args.main_process_ip
        assert args.rdzv_backend == "static"
    else:
        assert args.num_machines == 1
    assert args.module
    assert args.training_script == "gatt.train"
    assert args.training_script_args[0] == "--config"
    # The configuration's defaults are those of a run that exists; the file itself must.
    assert Path(args.training_script_args[1]).is_file()
