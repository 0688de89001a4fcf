"""`gatt show`: one sample in the terminal, token by token, with what carries loss."""

from __future__ import annotations

import argparse

from gatt.cli import path_argument
from gatt.commands.rows.settings import KEYS, add_settings, settings_of
from gatt.train.config import TrainConfig

HELP = "print the training rows of a sample in colours, and which tokens carry loss"

_DESCRIPTION = (
    "Print what training makes of one sample: its rows (trunk, branches, or plain rows), what each "
    "token is, which tokens carry loss, and what was left out and why. With --config these are the "
    "settings of that training run; without it, training's defaults. A flag overrides either."
)


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
    add_settings(parser, KEYS)


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

    config = settings_of(args, [args.samples])
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
