"""`gatt show`: one sample in the terminal, token by token, with what carries loss."""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import get_args, get_type_hints

from gatt.cli import path_argument
from gatt.config.load import load_config
from gatt.config.shipped_files import config_file
from gatt.train.config import TrainConfig

HELP = "print the training rows of a sample in colours, and which tokens carry loss"

_DESCRIPTION = (
    "Print what training makes of one sample: its rows (trunk, branches, or plain rows), what each "
    "token is, which tokens carry loss, and what was left out and why. With --config these are the "
    "settings of that training run; without it, training's defaults. A flag overrides either."
)
_KEYS = {
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = _DESCRIPTION
    parser.add_argument(
        "samples",
        type=path_argument,
        metavar="SAMPLES.jsonl",
        help="file of `gatt synth`, or that compressed (.gz, .xz)",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--row", type=int, metavar="N", help="which sample, from 1 (default: 1)")
    which.add_argument("--id", metavar="ID", help="the sample with this id")
    parser.add_argument(
        "--plain", action="store_true", help="no colours; what carries loss stands in «…»"
    )
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
    for name, text in _KEYS.items():
        choices = get_args(hints[name])
        is_number = hints[name] is int
        settings.add_argument(
            f"--{name}",
            *([f"--{name.replace('_', '-')}"] if "_" in name else []),
            type=int if is_number else str,
            choices=choices or None,
            metavar=None if choices else "N" if is_number else "M",
            help=f"{text} (default: {defaults[name]})",
        )


def run(args: argparse.Namespace) -> int:
    """Print the sample.

    Raises:
        GattError: no such sample, settings that do not fit, or a template that cannot be used.
    """
    from rich.console import Console

    from gatt.commands.show.text import print_sample
    from gatt.commands.show.view import pick, view_sample
    from gatt.data.sample import read_samples
    from gatt.models.load import load_tokenizer
    from gatt.models.template_variables import set_template_variables

    config = _config(args)
    sample = pick(read_samples(args.samples), args.samples, row=args.row, identity=args.id)
    tokenizer = load_tokenizer(config.model)
    set_template_variables(tokenizer, config.chat_template_kwargs)
    shown = view_sample(
        tokenizer,
        sample,
        config,
        why_not_packable=lambda: _why_not_packable(config),
    )
    console = Console(highlight=False, color_system=None if args.plain else "auto", soft_wrap=True)
    print_sample(console, sample, shown, config, is_plain=args.plain)
    return 0


def _config(args: argparse.Namespace) -> TrainConfig:
    """Return the configuration of the training run, or its defaults, with the flags upon it.

    Raises:
        ConfigError: the file or a value is wrong.
    """
    # What else a run must be told makes no difference here, so the file may lack it.
    words = [f"--samples={json.dumps([str(args.samples)])}", "--output_dir=."]
    given = {name: getattr(args, name) for name in _KEYS}
    words += [f"--{name}={value}" for name, value in given.items() if value is not None]
    path = None if args.config is None else config_file(args.config)
    return load_config(TrainConfig, path, words)


def _why_not_packable(config: TrainConfig) -> str | None:
    """Return why the model cannot take packed rows, by its configuration; weights stay unloaded.

    Raises:
        ModelError: it has no configuration that can be read.
    """
    from transformers import AutoConfig

    from gatt.comb.model_support import why_not_packable
    from gatt.models.load import resolve
    from gatt.models.pretrained import load_pretrained

    source = resolve(config.model)
    found = load_pretrained(AutoConfig, source, name=config.model, what="its configuration")
    return why_not_packable(found, config.attn_implementation, config.max_length)
