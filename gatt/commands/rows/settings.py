"""Settings of a training run that shape the rows of a sample, as options of a command."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, get_args, get_type_hints

from gatt.cli import path_argument
from gatt.config.load import load_config
from gatt.config.shipped_files import config_file
from gatt.train.config import TrainConfig

Format = Literal["trl", "axolotl", "llamafactory", "text"]
"""Whose rows `gatt rows` writes."""
KEYS = {
    "model": "whose tokenizer: the embedded model, a folder, or a hub id",
    "placement": "where the instruction stands; mixed: drawn from seed and sample id",
    "supervise": "which tokens carry loss",
    "history": "replies in the history: the dialogue's own, the targets, or drawn as above",
    "layout": "all turns in one row, one row a turn, or what template and model allow",
    "max_length": "most tokens of one prompt and its target; longer ones lose oldest exchanges",
    "max_tokens_per_row": "most tokens of a row; longer ones are cut between turns",
    "seed": "what mixed placement and history are drawn from",
}
"""Keys of `TrainConfig` that shape the rows of a sample, with their help."""


def add_settings(parser: argparse.ArgumentParser, names: Iterable[str]) -> None:
    """Add `--config` and an option for each of these names of `KEYS`."""
    settings = parser.add_argument_group("training settings")
    settings.add_argument(
        "--config",
        type=path_argument,
        metavar="TRAIN.yaml",
        help="configuration of `gatt train`, also the config.yaml that it leaves in its output_dir, or "
        "the name of one of `gatt configs`",
    )
    hints = get_type_hints(TrainConfig)
    defaults = {f.name: f.default for f in dataclasses.fields(TrainConfig)}
    for name in names:
        choices = get_args(hints[name])
        is_number = hints[name] is int
        settings.add_argument(
            f"--{name}",
            type=int if is_number else str,
            choices=choices or None,
            metavar=None if choices else "N" if is_number else "M",
            help=f"{KEYS[name]} (default: {defaults[name]})",
        )


def settings_of(args: argparse.Namespace, samples: Sequence[Path]) -> TrainConfig:
    """Return the configuration of the training run, or its defaults, with the flags upon it.

    Raises:
        ConfigError: the file or a value is wrong.
    """
    # What else a run must be told makes no difference here, so the file may lack it.
    words = [f"--samples={json.dumps([str(path) for path in samples])}", "--output_dir=."]
    given = {name: getattr(args, name, None) for name in KEYS}
    words += [f"--{name}={value}" for name, value in given.items() if value is not None]
    path = None if args.config is None else config_file(args.config)
    return load_config(TrainConfig, path, words)
