"""The file of a run and its stages, resolved. No torch here.

A run file holds an output folder and the configuration of each stage::

    output_dir: runs/demo
    model: qwen2.5-coder-0.5b-instruct                       # of every stage that names no other
    synth: {output_dir: "{run}/synth", ...}                  # as `gatt synth` takes it
    train: {samples: ["{run}/synth/samples.jsonl"], ...}     # as `gatt train` takes it
    eval:  {output_dir: "{run}", ...}                        # as `gatt eval` takes it

`{run}` in any text stands for the output folder, `{here}` for the folder of the
file. A stage is a command module with `CONFIG`, its configuration class, `MODEL`, the
key of its model, `PLAN` (see `gatt.stages.plan`), and `execute(config) -> str`, which
does the work, goes on with what it finds, and returns one line on the outcome. It may have
`check(config)`, which raises what can be known before the stages in front of it
have run, and `renew(config, error)`, which sets aside what a `StaleError` of
`execute` found to be made of other inputs, and returns one line on it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from gatt.cli import commands, load_command
from gatt.config.load import config_dict, config_file, load_config
from gatt.errors import ConfigError
from gatt.runs.values import Source

STAGES: Final = ("synth", "train", "eval")
"""In the order in which they run; each name is a command."""
RUN_FILE: Final = "run.yaml"
PLACEHOLDER: Final = "{run}"
HERE: Final = "{here}"

_BRACED = re.compile(r"\{\w*\}")


@dataclass(frozen=True)
class Stage:
    """One step of a run, with its configuration resolved."""

    name: str
    config: Any
    module: ModuleType


@dataclass(frozen=True)
class PipelineRun:
    """What a run file asks for; all of it is valid."""

    output_dir: Path
    stages: tuple[Stage, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the resolved run file."""
        stages = {stage.name: config_dict(stage.config) for stage in self.stages}
        return {"output_dir": str(self.output_dir), **stages}

    def config_of(self, name: str) -> Any | None:
        """Return the configuration of a stage; None where the run has no such stage."""
        return next((stage.config for stage in self.stages if stage.name == name), None)


def load_run(path: Path, overrides: Sequence[str] = ()) -> PipelineRun:
    """Return the run of a file and dotted overrides (`train.learning_rate=1e-4`).

    `path` is the file, the folder that holds it as `run.yaml`, or the name of one that is shipped, such as
    `demo`.

    Raises:
        ConfigError: no such file; with every problem of every stage: unknown keys, values out
            of range, no stage, a path with an unknown placeholder.
        GattError: the command of a stage cannot be loaded.
    """
    path = config_file(path / RUN_FILE if path.is_dir() else path)
    model = ("model", str | None, dataclasses.field(default=None))
    keys = (("output_dir", Path), model)
    config, unresolved = load_stages(STAGES, path, overrides, keys, _model_of_stages)
    if not unresolved:
        raise ConfigError(f"{path}: no stage in it: expected at least one of {', '.join(STAGES)}")
    problems: list[str] = []
    here = {HERE: str(path.parent)}
    output_dir = _resolve(config.output_dir, here, problems)
    folders = {PLACEHOLDER: str(output_dir), **here}
    stages = [
        dataclasses.replace(stage, config=_resolve(stage.config, folders, problems))
        for stage in unresolved
    ]
    if problems:
        raise ConfigError("; ".join(f"{path}: {problem}" for problem in problems))
    return PipelineRun(output_dir, tuple(stages))


def _model_of_stages(values: Mapping[str, Any]) -> Source:
    """Return the `model` of a run file as a default for each of its stages."""
    model = values.get("model")
    stages: dict[str, Any] = {}
    for name in STAGES if model and isinstance(model, str) else ():
        if isinstance(values.get(name), Mapping):
            stages[name] = model
            for key in reversed(load_command(commands()[name]).MODEL.split(".")):
                stages[name] = {key: stages[name]}
    return Source(stages, {})


def load_stages(
    names: Sequence[str],
    path: Path | None,
    overrides: Sequence[str],
    further_keys: Sequence[tuple[Any, ...]] = (),
    preset: Callable[[Mapping[str, Any]], Source] | None = None,
) -> tuple[Any, list[Stage]]:
    """Return a configuration whose keys are stages, and the stages that it has.

    `names` are commands, each an optional key with the configuration of that command. `further_keys` come with
    their types, and a field where they may be left out. `preset` returns values below those of the file and the
    overrides, which it is given.

    Raises:
        ConfigError: with every problem of every stage.
        GattError: the command of a stage cannot be loaded.
    """
    entries = commands()
    modules = {name: load_command(entries[name]) for name in names}
    # Made here, since only the entry points know the classes: this package imports no stage.
    optional = [
        (name, module.CONFIG | None, dataclasses.field(default=None))
        for name, module in modules.items()
    ]
    fields: list[Any] = [*further_keys, *optional]
    namespace = {"preset": staticmethod(preset)} if preset else {}
    stages_class = dataclasses.make_dataclass(
        "RunConfig", fields, frozen=True, kw_only=True, namespace=namespace
    )
    config: Any = load_config(stages_class, path, overrides)
    configs = {name: getattr(config, name) for name in names}
    return config, [
        Stage(name, stage_config, modules[name])
        for name, stage_config in configs.items()
        if stage_config is not None
    ]


def _resolve(value: Any, folders: Mapping[str, str], problems: list[str]) -> Any:
    """Return the value with each placeholder replaced wherever a text or path holds it.

    A path with an unknown one adds a problem.
    """

    def resolved(item: Any) -> Any:
        return _resolve(item, folders, problems)

    if isinstance(value, str | Path):
        text = str(value)
        for placeholder, folder in folders.items():
            text = text.replace(placeholder, folder)
        if isinstance(value, Path) and _BRACED.search(text):
            problems.append(
                f"path {text!r} holds an unknown placeholder: expected {PLACEHOLDER} or {HERE}"
            )
        return type(value)(text)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        new = {f.name: resolved(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return dataclasses.replace(value, **new)
    if isinstance(value, Mapping):
        return {key: resolved(item) for key, item in value.items()}
    return type(value)(map(resolved, value)) if isinstance(value, tuple | list) else value
