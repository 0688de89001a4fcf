"""`gatt push`: an adapter or samples, to the hub or a local folder."""

from __future__ import annotations

import argparse
import sys

from gatt.commands.push.config import PushConfig
from gatt.config.arguments import add_config_arguments
from gatt.config.load import load_config

HELP = "share an adapter or a data set: on the hub, or in a folder with the same files"
TAKES_OVERRIDES = True
CONFIG = PushConfig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--config`; every key of `PushConfig` can be set after it."""
    add_config_arguments(parser, PushConfig)
    parser.description = f"""{HELP}

  gatt push --what=adapter --folder=runs/demo/train/adapter --results=runs/demo --output_dir=shared/adapter
  gatt push --what=dataset --folder=runs/demo/synth --repo_id=owner/name

The token is read from HF_TOKEN; a new repository is private. Paths of this machine are cut to their
last part in cards and settings."""


def run(args: argparse.Namespace) -> int:
    """Share it and print where it is."""
    config = load_config(PushConfig, args.config, args.overrides)
    from gatt.commands.push.send import push

    sys.stdout.write(f"{push(config)}\n")
    return 0
