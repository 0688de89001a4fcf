"""`gatt synth`: make GAtt samples from dialogues and the catalogue."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from data_synth.config import SynthConfig
from gatt.config.arguments import add_config_arguments, config_from_args

if TYPE_CHECKING:
    from data_synth.pipeline import SynthResult

HELP = "make training samples: put instructions on dialogues and sample replies that follow them"
TAKES_OVERRIDES = True
CONFIG = SynthConfig
ACTIONS = {
    "status": "data_synth.commands.synth_status",
    "verify": "data_synth.commands.synth_verify",
    "merge": "data_synth.commands.synth_merge",
    "splice": "data_synth.commands.synth_splice",
}
"""Words that may follow the command, and the command module of each."""

_ABOUT = f"""{HELP}

  gatt synth --config FILE                 all of it; goes on where an earlier run stopped
  gatt synth --config FILE --workers 4     with 4 processes on this machine
  gatt synth --config FILE --shard 2/8     the second of 8 disjoint parts, on any machine
  gatt synth status FOLDER                 how far it is, from the files alone
  gatt synth verify FOLDER                 whether every line is as it must be
  gatt synth merge FOLDER                  samples.jsonl from the parts, once all are complete
  gatt synth splice --samples='[FILE]'     samples whose instruction changes, of such without"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the configuration's arguments and how the work is divided."""
    add_config_arguments(parser, SynthConfig)
    parser.description = _ABOUT
    division = parser.add_mutually_exclusive_group()
    division.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="work with N processes and join what they make; the samples are those of one process",
    )
    division.add_argument(
        "--shard",
        metavar="K/N",
        help="make only part K of N, in shards/ of the output folder; `merge` joins them",
    )


def execute(config: SynthConfig) -> str:
    """Make the samples and return one line on what is there."""
    from data_synth.pipeline import run_synth

    return _outcome(run_synth(config))


def run(args: argparse.Namespace) -> int:
    """Make the samples; a run that was interrupted goes on."""
    config = config_from_args(SynthConfig, args)
    sys.stdout.write(_divided(config, args.workers, args.shard) + "\n")
    return 0


def _divided(config: SynthConfig, num_workers: int | None, shard: str | None) -> str:
    if num_workers is not None:
        from data_synth.parallel.workers import run_workers

        return _outcome(run_workers(config, num_workers))
    if shard is None:
        return execute(config)
    from data_synth.pipeline import run_synth
    from data_synth.shards.shard import Shard

    part = Shard.parse(shard)
    result = run_synth(config, shard=part)
    if part.is_whole:
        return _outcome(result)
    return (
        f"{_counts(result)}; shard {part}: join them with `gatt synth merge {config.output_dir}` "
        "once all are there"
    )


def _outcome(result: SynthResult) -> str:
    return f"{_counts(result)}; card: {result.samples.with_name('README.md')}"


def _counts(result: SynthResult) -> str:
    state = f"{result.num_new} new" if result.num_new else "all of them stood there already"
    return (
        f"{result.samples}: {result.num_samples} samples ({state}), {result.num_targets} targets "
        f"for {result.num_turns} turns"
    )
