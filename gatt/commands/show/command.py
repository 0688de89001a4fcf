"""`gatt show`: one sample in the terminal, token by token, with what carries loss."""

from __future__ import annotations

import argparse
import sys
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from gatt.cli import path_argument
from gatt.commands.rows.settings import KEYS, add_settings, settings_of
from gatt.errors import ConfigError
from gatt.train.config import TrainConfig

if TYPE_CHECKING:
    from gatt.commands.show.view import ShownSample
    from gatt.data.sample import GattSample

HELP = "print the training rows of a sample, and which tokens carry loss; or a page of samples"

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
    parser.add_argument(
        "--html",
        type=path_argument,
        metavar="FILE",
        help="write a page of samples instead: turns, targets, verdicts, what carries loss",
    )
    parser.add_argument(
        "--num_samples",
        type=int,
        default=20,
        metavar="N",
        help="samples on the page, from the first, unless --row or --id names one (%(default)s)",
    )
    add_settings(parser, KEYS)


def run(args: argparse.Namespace) -> int:
    """Print the sample, or write the page.

    Raises:
        GattError: no such sample, settings that do not fit, a template that cannot be used, or a page that
            cannot be written.
    """
    from gatt.commands.show.view import pick, view_sample
    from gatt.data.sample import read_samples
    from gatt.models.load import load_tokenizer
    from gatt.models.template_variables import set_template_variables

    config = settings_of(args, [args.samples])
    if args.num_samples < 1:
        raise ConfigError(f"--num_samples is {args.num_samples}: expected at least 1")
    samples = read_samples(args.samples)
    if args.html is None or args.row is not None or args.id is not None:
        samples = iter([pick(samples, args.samples, row=args.row, identity=args.id)])
    tokenizer = load_tokenizer(config.model)
    set_template_variables(tokenizer, config.chat_template_kwargs)
    why = cache(lambda: _why_not_packable(config))
    shown = [
        (sample, view_sample(tokenizer, sample, config, why_not_packable=why))
        for sample in islice(samples, args.num_samples)
    ]
    if args.html is None:
        _print(*shown[0], config, is_plain=args.plain)
    else:
        _write(args.html, args.samples.name, shown, config)
    return 0


def _print(sample: GattSample, shown: ShownSample, config: TrainConfig, *, is_plain: bool) -> None:
    from rich.console import Console

    from gatt.commands.show.text import print_sample

    console = Console(highlight=False, color_system=None if is_plain else "auto", soft_wrap=True)
    print_sample(console, sample, shown, config, is_plain=is_plain)


def _write(
    path: Path, title: str, shown: list[tuple[GattSample, ShownSample]], config: TrainConfig
) -> None:
    from gatt.commands.show.page import page_of
    from gatt.runs.atomic_file import atomic_write_text

    atomic_write_text(path, page_of(title, shown, config))
    sys.stdout.write(f"{path}: {len(shown)} samples\n")


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
