"""`gatt show`: one sample in the terminal, token by token, with what carries loss."""

from __future__ import annotations

import argparse
from pathlib import Path

from gatt.views import PLACEMENTS

HELP = "print a sample in colours: trunk, prompts, targets, and which tokens carry loss"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("samples", type=Path, metavar="SAMPLES.jsonl", help="file of `gatt synth`")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--row", type=int, metavar="N", help="which sample, from 1 (default: 1)")
    which.add_argument("--id", metavar="ID", help="the sample with this id")
    parser.add_argument(
        "--model",
        metavar="M",
        help="whose tokenizer: folder or hub id (default: the embedded model)",
    )
    parser.add_argument(
        "--placement",
        choices=PLACEMENTS,
        default="system",
        help="where the instruction stands (default: %(default)s)",
    )
    parser.add_argument(
        "--supervise",
        choices=("last_turn", "all_turns", "context_only"),
        default="last_turn",
        help="which tokens carry loss (default: %(default)s)",
    )
    parser.add_argument(
        "--max-length", type=int, metavar="N", help="drop oldest exchanges beyond N tokens"
    )
    parser.add_argument(
        "--plain", action="store_true", help="no colours; what carries loss stands in «…»"
    )


def run(args: argparse.Namespace) -> int:
    """Print the sample.

    Raises:
        GattError: no such sample, or one that cannot be encoded.
    """
    from rich.console import Console

    from gatt.models import EMBEDDED, load_tokenizer
    from gatt.sample import read_samples
    from gatt.show import pick, print_sample, view_sample

    sample = pick(read_samples(args.samples), args.samples, row=args.row, identity=args.id)
    shown = view_sample(
        load_tokenizer(args.model or EMBEDDED),
        sample,
        placement=args.placement,
        supervise=args.supervise,
        max_length=args.max_length,
    )
    console = Console(highlight=False, no_color=args.plain, soft_wrap=True)
    print_sample(console, sample, shown, is_plain=args.plain)
    return 0
