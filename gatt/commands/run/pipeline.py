"""`gatt run`: the stages of one YAML file, one after the other. No torch here.

A run file holds an output folder and the configuration of each stage::

    output_dir: runs/demo
    synth: {output_dir: "{run}/synth", ...}                  # as `gatt synth` takes it
    train: {samples: ["{run}/synth/samples.jsonl"], ...}     # as `gatt train` takes it
    eval:  {output_dir: "{run}", ...}                        # as `gatt eval` takes it

`{run}` in any text stands for the output folder, `{here}` for the folder of the
file. A stage is a command module
with `CONFIG`, its configuration class, and `execute(config) -> str`, which
does the work, goes on with what it finds, and returns one line on the outcome.
It may have `check(config)`, which raises what can be known before the stages in
front of it have run.
"""

from __future__ import annotations

import dataclasses
import gc
import importlib.metadata
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from gatt.cli import GROUP
from gatt.config.load import config_dict, load_config
from gatt.config.shipped_files import config_file
from gatt.errors import ConfigError, GattError
from gatt.runs.atomic_file import atomic_write_text
from gatt.runs.provenance import provenance
from gatt.runs.yaml_file import dump_yaml

STAGES = ("synth", "train", "eval")
"""In the order in which they run; each name is a command."""
RUN_FILE = "run.yaml"
PLACEHOLDER = "{run}"
HERE = "{here}"

_BRACED = re.compile(r"\{\w*\}")


@dataclass(frozen=True)
class Stage:
    """One step of a run, with its configuration resolved."""

    name: str
    config: Any
    execute: Callable[[Any], str]
    check: Callable[[Any], None] | None = None
    """Raises what can be known before any stage has run."""
    plan: str = ""
    """Module whose `planned` says what it would do."""


@dataclass(frozen=True)
class Run:
    """What a run file asks for; all of it is valid."""

    output_dir: Path
    stages: tuple[Stage, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the resolved run file."""
        stages = {stage.name: config_dict(stage.config) for stage in self.stages}
        return {"output_dir": str(self.output_dir), **stages}


def load_run(path: Path, overrides: Sequence[str] = ()) -> Run:
    """Return the run of a file and dotted overrides (`train.learning_rate=1e-4`).

    Args:
        path: the file, or the name of one that is shipped, such as `demo`.
        overrides: set above it.

    Raises:
        ConfigError: no such file; with every problem of every stage: unknown keys, values out
            of range, no stage, a path with an unknown placeholder.
        GattError: the command of a stage is not installed.
    """
    path = config_file(path)
    modules = {name: _stage_module(name) for name in STAGES}
    # Made here, since only the entry points know the classes: this package imports no stage.
    run_class = dataclasses.make_dataclass(
        "RunConfig",
        [
            ("output_dir", Path),
            *((n, m.CONFIG | None, dataclasses.field(default=None)) for n, m in modules.items()),
        ],
        frozen=True,
        kw_only=True,
    )
    config: Any = load_config(run_class, path, overrides)
    given = {name: getattr(config, name) for name in STAGES if getattr(config, name) is not None}
    if not given:
        raise ConfigError(f"{path}: no stage in it: expected at least one of {', '.join(STAGES)}")
    here = str(path.parent)
    output_dir = _resolve(config.output_dir, {HERE: here})
    folders = {PLACEHOLDER: str(output_dir), HERE: here}
    resolved = {name: _resolve(stage, folders) for name, stage in given.items()}
    problems = [
        f"{path}: {name}: path {str(bad)!r} holds an unknown placeholder: expected {PLACEHOLDER} or {HERE}"
        for name, stage in resolved.items()
        for bad in _paths(stage)
        if _BRACED.search(str(bad))
    ]
    if problems:
        raise ConfigError("; ".join(problems))
    stages = [
        Stage(
            name,
            stage,
            modules[name].execute,
            getattr(modules[name], "check", None),
            getattr(modules[name], "PLAN", ""),
        )
        for name, stage in resolved.items()
    ]
    return Run(output_dir, tuple(stages))


def execute_run(run: Run, say: Callable[[str], object]) -> None:
    """Check all stages, then run them in order; what is done already is skipped by its stage.

    The resolved file is written as `run.yaml` in the output folder: at once
    where there is none, over an older one only when every stage has accepted
    the folder as its own.

    Args:
        run: what to do.
        say: takes one line for the reader.

    Raises:
        GattError: whatever a stage raises; the stages before it stay.
    """
    for stage in run.stages:
        if stage.check is not None:
            stage.check(stage.config)
    path = run.output_dir / RUN_FILE
    command = shlex.join(provenance()["command"])
    text = f"# Resolved configuration of: {command}\n{dump_yaml(run.as_dict())}"
    if not path.exists():
        atomic_write_text(path, text)
    began = time.monotonic()
    for number, stage in enumerate(run.stages, start=1):
        place = getattr(stage.config, "output_dir", run.output_dir)
        say(f"[{number}/{len(run.stages)}] {stage.name} -> {place}")
        started = time.monotonic()
        summary = stage.execute(stage.config)
        say(f"      {summary} [{time.monotonic() - started:.0f} s]")
        _free_memory()
    atomic_write_text(path, text)
    say(f"all {len(run.stages)} stages done in {time.monotonic() - began:.0f} s: {run.output_dir}")


def _stage_module(name: str) -> ModuleType:
    found = [e for e in importlib.metadata.entry_points(group=GROUP) if e.name == name]
    if not found:
        raise GattError(f"command {name!r} is not installed: install this project again")
    try:
        module: ModuleType = found[0].load()
    except ImportError as error:
        raise GattError(
            f"command {name!r} cannot be loaded: {error}: install what is missing"
        ) from error
    return module


def _resolve(value: Any, folders: Mapping[str, str]) -> Any:
    """Return the value with each placeholder replaced wherever a text or path holds it."""
    if isinstance(value, str | Path):
        text = str(value)
        for placeholder, folder in folders.items():
            text = text.replace(placeholder, folder)
        return type(value)(text) if text != str(value) else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        new = {f.name: _resolve(getattr(value, f.name), folders) for f in dataclasses.fields(value)}
        return dataclasses.replace(value, **new)
    if isinstance(value, Mapping):
        return {key: _resolve(item, folders) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(_resolve(item, folders) for item in value)
    return value


def _paths(value: Any) -> Iterator[Path]:
    if isinstance(value, Path):
        yield value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for item in dataclasses.fields(value):
            yield from _paths(getattr(value, item.name))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _paths(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _paths(item)


def _free_memory() -> None:
    """Give back what a stage held: models sit in cycles that only the collector breaks."""
    gc.collect()
    if "torch" in sys.modules:
        from gatt.train.runtime import release_device_memory

        release_device_memory()
