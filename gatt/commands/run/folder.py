"""The folder of a run as the argument of another command: its settings are those of the run. No torch here."""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gatt.commands.run.command import RUN_FILE, load_run
from gatt.config.arguments import config_from_args
from gatt.errors import ConfigError
from gatt.train.config import TrainConfig

log = logging.getLogger(__name__)


def training_of(args: argparse.Namespace, samples: Sequence[Path]) -> TrainConfig:
    """Return how samples are trained, with overrides of the command line.

    By `--config` where it is given, else by the run whose folder is given or holds the samples, else by the
    defaults of training; a line of the log says which.

    Args:
        args: of a command with the arguments of `TrainConfig`.
        samples: files, or the folder of one run, whose samples are then those of its training.

    Raises:
        ConfigError: a folder beside files or --config, or a folder of no run that trains; see `load_config`.
    """
    folders = [path for path in samples if path.is_dir()]
    if folders and (len(samples) > 1 or args.config):
        other = "--config" if args.config else "other samples"
        raise ConfigError(
            f"{folders[0]}: a folder beside {other}: expected the folder of a run alone"
        )
    # What else a training must be told makes no difference here, so the file may lack it.
    given = [f"samples={json.dumps([str(path) for path in samples])}", "output_dir=."]
    file = None if args.config else _run_file(samples[0])
    if file is None:
        if folders:
            raise ConfigError(
                f"{folders[0]}: a folder without {RUN_FILE}: expected the folder of a run, or samples.jsonl"
            )
        args.overrides += given
        if not args.config:
            log.warning(
                "settings: the defaults of training; --config FILE takes those of a training"
            )
        return config_from_args(TrainConfig, args)
    more = [*args.overrides, *(() if folders else given)]
    run = load_run(file, [f"train.{override.removeprefix('--')}" for override in more])
    config: TrainConfig | None = run.config_of("train")
    if config is None:
        raise ConfigError(f"{file}: no stage train in it: expected the run that trains the samples")
    log.warning("settings: the stage train of %s", file)
    return config


def talk_of(folder: Path) -> dict[str, Any]:
    """Return what a talk to the model of a run needs: model, adapter, catalog, and its entry if it is one.

    Raises:
        ConfigError: no run, no training in it, or no adapter yet; see `load_run`.
    """
    run = load_run(folder)
    training = run.config_of("train")
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
    return {"model": training.model, "adapter": adapter, "catalog": catalog}


def _run_file(place: Path) -> Path | None:
    """Return the run file of a folder, or of the run that a file lies in."""
    folders = [place] if place.is_dir() else [place.parent, place.parent.parent]
    files = (folder / RUN_FILE for folder in folders)
    return next((file for file in files if file.is_file()), None)


def with_values(args: argparse.Namespace, values: dict[str, Any]) -> argparse.Namespace:
    """Return arguments with values where they have none."""
    given = {name: value for name, value in vars(args).items() if value not in (None, [])}
    return argparse.Namespace(**{**vars(args), **values, **given})
