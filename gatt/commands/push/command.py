"""`gatt push`: an adapter, samples or a report, to the hub or a local folder."""

from __future__ import annotations

import argparse
import sys

from gatt.commands.push.config import PushConfig
from gatt.config.arguments import add_config_arguments, config_from_args

HELP = "share an adapter, data set or report: on the hub, or in a folder with the same files"
TAKES_OVERRIDES = True
CONFIG = PushConfig

_ABOUT = f"""{HELP}

  gatt push --what=adapter --folder=runs/demo/train/adapter --results=runs/demo --output_dir=shared/adapter
  gatt push --what=dataset --folder=runs/demo/synth --repo_id=owner/name
  gatt push --what=report  --folder=runs/demo --repo_id=owner/name --private=false

The token is read from HF_TOKEN; a new repository is private. Paths of this machine are cut to their
last part in cards and settings."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--config`; every key of `PushConfig` can be set after it."""
    add_config_arguments(parser, PushConfig)
    parser.description = _ABOUT


def run(args: argparse.Namespace) -> int:
    """Share it and print where it is."""
    config = config_from_args(PushConfig, args)
    from gatt.commands.push.send import push

    result = push(config)
    size = f"{result.num_bytes / 1e6:,.1f} MB"
    sys.stdout.write(
        f"{result.place}: {config.what} as a {result.repo_type} repository, {result.num_files} files, "
        f"{size}\n"
    )
    return 0
