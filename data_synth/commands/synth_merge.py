"""`gatt synth merge`: one file from the shards of a run."""

from __future__ import annotations

import argparse
import sys

from gatt.config.path_argument import path_argument

HELP = "write samples.jsonl and its card from a run's shards, in the order of the plan"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the folder."""
    parser.add_argument(
        "folder", type=path_argument, metavar="FOLDER", help="output_dir of the run"
    )


def run(args: argparse.Namespace) -> int:
    """Join the shards; refused unless every one is complete."""
    from data_synth.parallel.merge import merge_shards

    result = merge_shards(args.folder)
    sys.stdout.write(
        f"{result.samples}: {result.num_samples} samples, {result.num_targets} targets for "
        f"{result.num_turns} turns; card: {result.samples.with_name('README.md')}\n"
    )
    return 0
