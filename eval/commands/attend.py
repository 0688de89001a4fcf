"""`gatt attend`: where the model looks, base against GAtt."""

from __future__ import annotations

import argparse
import sys

from eval.studies.attention.task import AttendConfig
from gatt.config.arguments import add_config_arguments
from gatt.config.load import load_config

HELP = (
    "measure how much attention reaches the instruction, turn by turn, base model against adapter"
)
TAKES_OVERRIDES = True
CONFIG = AttendConfig
EXAMPLES = """examples:
  gatt attend --results runs/demo
  gatt attend --results runs/demo --output_dir runs/look --chart runs/look/map.png

It reads a finished evaluation. Without --output_dir, the report of the evaluation gets a section on
attention.

"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the configuration's arguments."""
    add_config_arguments(parser, AttendConfig)
    parser.epilog = EXAMPLES


def run(args: argparse.Namespace) -> int:
    """Measure, print what was found and the places of the files."""
    from eval.report.page.render import conclusion
    from eval.studies.attention.run import attend

    results, written = attend(load_config(AttendConfig, args.config, args.overrides))
    sys.stdout.writelines(f"{line}\n" for line in (conclusion(results), *written))
    return 0
