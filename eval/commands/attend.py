"""`gatt attend`: where the model looks, base against GAtt."""

from __future__ import annotations

import argparse
import sys

from eval.studies.attention.config import AttendConfig
from gatt.config.arguments import add_config_arguments, config_from_args

HELP = "look how much attention reaches the instruction, turn by turn, base model against adapter"
TAKES_OVERRIDES = True
CONFIG = AttendConfig
EXAMPLES = """examples:
  gatt attend --adapter runs/demo/train/adapter --entry language.fr --output_dir runs/look
  gatt attend --adapter runs/demo/train/adapter --dialogue chats.jsonl/chat-1 --output_dir runs/look
  gatt attend --samples runs/demo --chart attention.png

A dialogue that `gatt chat` has saved brings its instruction along. With --samples the report of the
evaluation gets a section on attention.

"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the configuration's arguments."""
    add_config_arguments(parser, AttendConfig)
    parser.epilog = EXAMPLES + (parser.epilog or "")


def run(args: argparse.Namespace) -> int:
    """Look, print the table and the places of the files."""
    from rich.console import Console

    from eval.report.page.attention_table import attention_table
    from eval.studies.attention.run import attend

    done = attend(config_from_args(AttendConfig, args))
    Console().print(attention_table(done.results))
    sys.stdout.writelines(f"{path}\n" for path in done.written)
    return 0
