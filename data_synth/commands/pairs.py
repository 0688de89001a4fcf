"""`gatt pairs`: a model's own replies to the turns of samples, as pairs to learn from."""

from __future__ import annotations

import argparse
import sys

from data_synth.pairs.config import PairsConfig
from gatt.config.arguments import add_config_arguments
from gatt.config.load import load_config
from gatt.stages.plan import add_plan_argument, show_plan

HELP = "let a trained model reply to samples, and pair its good replies with its failures"
TAKES_OVERRIDES = True
CONFIG = PairsConfig
PLAN = "data_synth.commands.pairs_plan"
"""Module whose `planned` says what `--plan` prints."""
FIRST = (
    "samples", "output_dir", "engine.model", "adapter", "replies", "histories", "num_samples",
    "sampling.max_new_tokens", "sampling.temperature",
)  # fmt: skip
"""The keys that matter first."""

_ABOUT = f"""{HELP}

  gatt pairs --samples=RUN/synth/samples.jsonl --adapter=RUN/train/adapter --engine.model=MODEL \\
    --output_dir=FOLDER
  gatt train --samples=FOLDER/samples.jsonl --objective=preference --init_adapter=RUN/train/adapter ...

`gatt improve RUN` does both, and measures the result."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the configuration's arguments."""
    add_config_arguments(parser, PairsConfig, FIRST)
    parser.description = _ABOUT
    add_plan_argument(parser)


def execute(config: PairsConfig) -> str:
    """Make the pairs and return one line with their counts."""
    from data_synth.pairs.run import run_pairs

    return str(run_pairs(config))


def run(args: argparse.Namespace) -> int:
    """Make the pairs; a run that was interrupted goes on."""
    config = load_config(PairsConfig, args.config, args.overrides)
    if args.plan:
        return show_plan([("pairs", config, PLAN)])
    sys.stdout.write(execute(config) + "\n")
    return 0
