"""`gatt synth`: make GAtt samples from dialogues and the catalogue."""

from __future__ import annotations

import argparse
import sys

from data_synth.config import SynthConfig
from gatt.config_cli import add_config_arguments, config_from_args

HELP = "make training samples: put instructions on dialogues and sample replies that follow them"
TAKES_OVERRIDES = True
CONFIG = SynthConfig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the configuration's arguments."""
    add_config_arguments(parser, SynthConfig)


def execute(config: SynthConfig) -> str:
    """Make the samples and return one line on what is there."""
    from data_synth.pipeline import run_synth

    result = run_synth(config)
    state = f"{result.num_new} new" if result.num_new else "all of them stood there already"
    return (
        f"{result.samples}: {result.num_samples} samples ({state}), {result.num_targets} targets "
        f"for {result.num_turns} turns; card: {result.samples.with_name('README.md')}"
    )


def run(args: argparse.Namespace) -> int:
    """Make the samples; a run that was interrupted goes on."""
    sys.stdout.write(execute(config_from_args(SynthConfig, args)) + "\n")
    return 0
