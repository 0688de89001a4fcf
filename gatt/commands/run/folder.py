"""The folder of a run as the argument of another command: its settings are those of the run. No torch here."""

from __future__ import annotations

import argparse
import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gatt.config.load import load_config
from gatt.errors import ConfigError
from gatt.runs.values import read_mapping
from gatt.stages.run_file import RUN_FILE, load_run
from gatt.train.config import TrainConfig

log = logging.getLogger(__name__)


def training_of(args: argparse.Namespace, samples: Sequence[Path]) -> TrainConfig:
    """Return how samples are trained, with overrides of the command line.

    By `--config` where it is given, else by the run whose folder is given, or whose samples they are and which
    lies beside them, else by the defaults of training; a line of the log says which.

    The samples of the folder of a run are those of its training.

    Raises:
        ConfigError: a folder beside files or --config, or a folder of no run that trains; see `load_config`.
    """
    folders = [path for path in samples if path.is_dir()]
    if folders and (len(samples) > 1 or args.config):
        other = "--config" if args.config else "other samples"
        raise ConfigError(
            f"{folders[0]}: a folder beside {other}: expected the folder of a run alone"
        )
    if folders:
        return _training_of_run(_run_file_in(folders[0]), args.overrides)
    # What else a training needs makes no difference here, so the file may lack it.
    given = [f"samples={json.dumps([str(path) for path in samples])}", "output_dir=."]
    file = None if args.config else _run_file_of(samples[0])
    if file is not None:
        return _training_of_run(file, [*args.overrides, *given])
    args.overrides += given
    if not args.config:
        log.warning("settings: the defaults of training; --config FILE takes those of a training")
    return load_config(TrainConfig, args.config, args.overrides)


def _training_of_run(file: Path, overrides: Sequence[str]) -> TrainConfig:
    if not isinstance(read_mapping(file).values.get("train"), dict):
        raise ConfigError(f"{file}: no stage train in it: expected the run that trains the samples")
    run = load_run(file, [f"train.{override.removeprefix('--')}" for override in overrides])
    config = run.config_of("train")
    assert isinstance(config, TrainConfig)
    log.warning("settings: the stage train of %s", file)
    return config


def _run_file_in(folder: Path) -> Path:
    file = folder / RUN_FILE
    if not file.is_file():
        raise ConfigError(
            f"{folder}: a folder without {RUN_FILE}: expected the folder of a run, or samples.jsonl"
        )
    return file


def _run_file_of(samples: Path) -> Path | None:
    """Return the file of the run that samples belong to, in their folder or the one above."""
    place = Path(os.path.abspath(samples))
    for folder in place.parents[:2]:
        file = folder / RUN_FILE
        if file.is_file() and _has_samples(file, place):
            return file
    return None


def _has_samples(file: Path, samples: Path) -> bool:
    """Whether a file is that of a run with a training, and the run made the samples or trains them."""
    try:
        run = load_run(file)
    except ConfigError as error:
        log.warning("a %s beside the samples is left aside: %s", RUN_FILE, error)
        return False
    training, synthesis = run.config_of("train"), run.config_of("synth")
    if training is None:
        return False
    places = [*training.samples, *([] if synthesis is None else [synthesis.output_dir])]
    # Paths that are relative to the folder where the run was started are found by their place in its folder.
    beside = [
        file.parent / place.relative_to(run.output_dir)
        for place in places
        if place.is_relative_to(run.output_dir)
    ]
    own = {place.resolve() for place in (*places, *beside)}
    return bool(own & {samples.resolve(), samples.parent.resolve()})


def talk_of(folder: Path, adapter: Path | None = None) -> dict[str, Any]:
    """Return what a talk to the model of a run needs: model, adapter, catalog, and its entry if it is one.

    With an `adapter` of its own, the training of the run is not needed.

    Raises:
        ConfigError: no run, no training in it, or no adapter yet; see `load_run`.
    """
    run = load_run(folder)
    training = run.config_of("train")
    if adapter is None:
        if training is None:
            raise ConfigError(f"{folder}: no stage train in its {RUN_FILE}: expected --adapter")
        adapter = training.output_dir / "adapter"
        if not adapter.is_dir():
            raise ConfigError(
                f"{adapter}: no such folder: the run has no adapter yet: `gatt run {folder}`"
            )
    configs = (run.config_of(name) for name in ("eval", "synth"))
    choices = [config.instructions for config in configs if config is not None]
    catalog = next((list(choice.catalog) for choice in choices if choice.catalog), [])
    model = None if training is None else training.model
    return {"model": model, "adapter": adapter, "catalog": catalog}


def with_values(args: argparse.Namespace, values: dict[str, Any]) -> argparse.Namespace:
    """Return arguments with values where they have none."""
    given = {name: value for name, value in vars(args).items() if value not in (None, [])}
    return argparse.Namespace(**{**vars(args), **values, **given})
