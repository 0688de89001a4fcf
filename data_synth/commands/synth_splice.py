"""`gatt synth splice`: samples whose instruction changes, made from finished samples."""

from __future__ import annotations

import argparse
import sys

from data_synth.splice.config import SpliceConfig
from gatt.config.arguments import add_config_arguments, config_from_args

HELP = "make samples whose instruction changes from finished samples, without a model"
TAKES_OVERRIDES = True
CONFIG = SpliceConfig

_ABOUT = f"""{HELP}

  gatt synth splice --samples=FILE,FILE --output_dir=FOLDER
  gatt synth splice --samples=FILE --output_dir=FOLDER --switch.cancel=1 --switch.replace=0

Where one dialogue has samples under several instructions, the targets under one instruction are
followed, from some turn on, by those under another (replace), under it and one more entry (add), or
under none (cancel)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the configuration's arguments."""
    add_config_arguments(parser, SpliceConfig)
    parser.description = _ABOUT


def run(args: argparse.Namespace) -> int:
    """Make the samples; nothing is written if they are stored already."""
    from data_synth.splice.splice import splice

    sys.stdout.write(f"{splice(config_from_args(SpliceConfig, args))}\n")
    return 0
