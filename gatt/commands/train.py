"""`gatt train`: train an adapter on samples."""

from __future__ import annotations

import argparse
import logging
import sys

from gatt.config_cli import add_config_arguments, config_from_args
from gatt.train_config import TrainConfig

HELP = "train a LoRA adapter on samples (many processes: accelerate launch -m gatt.train)"
TAKES_OVERRIDES = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--config`; every key of `TrainConfig` can be set after it."""
    add_config_arguments(parser, TrainConfig)


def run(args: argparse.Namespace) -> int:
    """Train and say where the adapter is."""
    config = config_from_args(TrainConfig, args)
    from gatt.runtime import is_launched_main
    from gatt.train import train

    _show_log(is_launched_main())
    result = train(config)
    if is_launched_main():
        done = "trained" if result.is_new else "already trained"
        sys.stdout.write(
            f"{done}: {result.num_steps} steps, loss {result.train_loss:.4f}, "
            f"{result.num_supervised_tokens} supervised tokens: {result.adapter}\n"
        )
    return 0


def _show_log(is_main: bool) -> None:
    """Show this project's log on stderr; of many processes, only the first one's."""
    logger = logging.getLogger("gatt")
    logger.setLevel(logging.INFO if is_main else logging.ERROR)
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(message)s"))
        logger.addHandler(handler)
