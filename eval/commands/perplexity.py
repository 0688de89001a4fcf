"""`gatt perplexity`: what an adapter costs on plain dialogues."""

from __future__ import annotations

import argparse
import sys

from eval.perplexity import PerplexityConfig
from gatt.config.arguments import add_config_arguments
from gatt.config.load import load_config

HELP = "measure the perplexity of people's own replies without any instruction, with and without the adapter"
TAKES_OVERRIDES = True
CONFIG = PerplexityConfig
FIRST = ("output", "adapters", "engine.model", "source.name", "source.path", "num_dialogues")
"""The keys that matter first."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the configuration's arguments."""
    add_config_arguments(parser, PerplexityConfig, FIRST)


def run(args: argparse.Namespace) -> int:
    """Measure, print the table and write the file."""
    from rich.console import Console
    from rich.table import Table

    from eval.perplexity import as_rows, measure_perplexity

    config = load_config(PerplexityConfig, args.config, args.overrides)
    table = Table("arm", "perplexity", "ratio to base [95 %]", "tokens")
    for row in as_rows(measure_perplexity(config)):
        table.add_row(*row)
    Console().print(table)
    sys.stdout.write(f"{config.output}\n")
    return 0
