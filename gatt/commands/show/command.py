"""`gatt show`: one sample in the terminal or several on a page, with what carries loss."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING

from gatt.cli import path_argument
from gatt.commands.run.folder import training_of
from gatt.config.arguments import add_config_arguments
from gatt.errors import ConfigError, DataError
from gatt.train.config import TrainConfig

if TYPE_CHECKING:
    from gatt.data.sample import GattSample

HELP = (
    "print the training rows of a sample, and which tokens carry loss; or write a page of samples"
)

TAKES_OVERRIDES = True
_FIRST = (
    "model", "placement", "supervise", "history", "layout", "max_length", "max_tokens_per_row", "seed",
)  # fmt: skip
"""The keys that shape the rows of a sample."""

_ABOUT = """Print the training rows of one sample (trunk and branches, or one row a turn), which tokens carry
loss, and what was left out and why. Tokens that carry loss stand in «…». The settings are those of --config,
else those of the run that the samples belong to, else the defaults of `gatt train`. Keys override them."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the sample, the page, and the configuration of a training run."""
    add_config_arguments(parser, TrainConfig, _FIRST)
    parser.description = _ABOUT
    parser.add_argument(
        "samples",
        type=path_argument,
        metavar="RUN | SAMPLES.jsonl",
        help="the folder of a run of `gatt run`, or a file of `gatt synth`, also compressed (.gz, .xz)",
    )
    parser.add_argument(
        "--html", type=path_argument, metavar="FILE",
        help="write a page of samples instead: turns, targets, verdicts, which text carries loss",
    )  # fmt: skip
    parser.add_argument(
        "--num_samples", type=int, default=20, metavar="N",
        help="how many samples the page has, if neither --row nor --id is given (%(default)s)",
    )  # fmt: skip
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--row", type=int, metavar="N", help="number of the sample, from 1 (1)")
    which.add_argument("--id", metavar="ID", help="the sample with this id")


def run(args: argparse.Namespace) -> int:
    """Print the sample, or write the page.

    Raises:
        GattError: no such sample, settings that do not fit, a template that cannot be used, or a page
            that cannot be written.
    """
    from gatt.comb.model_support import why_not_packable
    from gatt.commands.show.view import lines_of, page_of, view_sample
    from gatt.data.sample import read_samples
    from gatt.models.load import load_model_config, load_tokenizer
    from gatt.runs.atomic_file import atomic_write_text

    config = training_of(args, [args.samples])
    if args.num_samples < 1:
        raise ConfigError(f"--num_samples is {args.num_samples}: expected at least 1")
    samples: Iterable[GattSample] = chain.from_iterable(map(read_samples, config.samples))
    if args.html is None or args.row is not None or args.id is not None:
        samples = iter([_pick(samples, args)])
    tokenizer = load_tokenizer(config.model, config.chat_template_kwargs)

    @cache
    def why() -> str | None:
        # By the configuration of the model: its weights stay unloaded.
        model_config = load_model_config(config.model)
        return why_not_packable(model_config, config.attn_implementation, config.max_length)

    shown = [
        view_sample(tokenizer, sample, config, why_not_packable=why)
        for sample in islice(samples, args.num_samples)
    ]
    if args.html is None:
        sys.stdout.write("".join(f"{line}\n" for line in lines_of(shown[0])))
    else:
        atomic_write_text(args.html, page_of(args.samples.name, shown, config.model))
        sys.stdout.write(f"{args.html}: {len(shown)} samples\n")
    return 0


def _pick(samples: Iterable[GattSample], args: argparse.Namespace) -> GattSample:
    """Return the sample of a row (from 1; the first where neither is given) or an id.

    Raises:
        DataError: no such row or id.
    """
    row = 1 if args.row is None else args.row
    number = 0
    for number, sample in enumerate(samples, start=1):
        if number == row if args.id is None else sample.id == args.id:
            return sample
    if args.id is None:
        raise DataError(f"{args.samples}: no row {row}: expected 1 to {number}")
    raise DataError(f"{args.samples}: no sample {args.id!r} among {number}: give an id of the file")
