"""`gatt export`: an adapter as a model that servers load."""

from __future__ import annotations

import argparse
import sys

from gatt.commands.export.config import ExportConfig
from gatt.config.arguments import add_config_arguments
from gatt.config.load import load_config

HELP = "make a folder that transformers, vLLM and `transformers serve` load, with a model card"
TAKES_OVERRIDES = True
CONFIG = ExportConfig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--config`; every key of `ExportConfig` can be set after it."""
    add_config_arguments(parser, ExportConfig)
    parser.description = f"""{HELP}

  gatt export --adapter=runs/demo/train/adapter --output_dir=served --results=runs/demo
  gatt export --adapter=… --output_dir=… --dtype=bfloat16"""


def run(args: argparse.Namespace) -> int:
    """Make the folder and print how to serve it."""
    config = load_config(ExportConfig, args.config, args.overrides)
    from gatt.commands.export.write import export

    sys.stdout.write(f"{export(config)}\nserve it: transformers serve {config.output_dir}\n")
    return 0
