"""`gatt train`: train an adapter on samples."""

from __future__ import annotations

import argparse
import contextlib
import logging
import sys
import warnings
from collections.abc import Iterator

from gatt.commands.launch import leave_outcome, planned_launch
from gatt.config.arguments import add_config_arguments
from gatt.config.load import load_config
from gatt.errors import StaleError
from gatt.runs.set_aside import move_aside
from gatt.stages.plan import add_plan_argument, show_plan
from gatt.train.config import TrainConfig

HELP = "train a LoRA adapter on samples, on all GPUs that are visible"
TAKES_OVERRIDES = True
CONFIG = TrainConfig
MODEL = "model"
"""The key that a run sets for all its stages."""
PLAN = "gatt.commands.run.train_plan"
"""Module whose `planned` says what `--plan` prints."""
FIRST = (
    "samples", "output_dir", "model", "load_in_4bit", "history", "lora.r", "learning_rate",
    "num_train_epochs", "per_device_train_batch_size", "gradient_accumulation_steps",
)  # fmt: skip
"""The keys that matter first."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--config`; every key of `TrainConfig` can be set after it."""
    add_config_arguments(parser, TrainConfig, FIRST)
    add_plan_argument(parser)


def execute(config: TrainConfig) -> str:
    """Train, or find it done, and return one line on what is there.

    Raises:
        StaleError: the folder holds weights of other samples.
    """
    from gatt.train.run_folder import refuse_stale

    refuse_stale(config)
    if launch := planned_launch(config):
        sys.stderr.write(f"training on {launch}\n")
        return launch.run()
    from gatt.train.run import train
    from gatt.train.runtime import is_launched_main

    with _shown_log(is_launched_main()):
        result = train(config)
    done = "trained" if result.is_new else "already trained"
    best = (
        ""
        if result.best_adherence is None
        else f"; adhered best at step {result.best_step} ({result.best_adherence:.0%}): "
        f"{result.best_adapter}"
    )
    return (
        f"{done}: {result.num_steps} steps, loss {result.train_loss:.4f}, "
        f"{result.num_supervised_tokens} supervised tokens: {result.adapter}{best}"
    )


def renew(config: TrainConfig, error: StaleError) -> str:
    """Set the folder aside after the error, and return one line on it.

    Raises:
        StoreError: a training runs there, or it cannot be moved.
    """
    from gatt.train.run_folder import TrainStore

    lock = TrainStore(config.output_dir, {}).lock()
    try:
        place = move_aside(config.output_dir)
    finally:
        lock.release()
    return f"its {' and '.join(error.parts)} changed: trained anew; as it was: {place}"


def run(args: argparse.Namespace) -> int:
    """Train and say where the adapter is."""
    config = load_config(TrainConfig, args.config, args.overrides)
    if args.plan:
        return show_plan([("train", config, PLAN)])
    summary = execute(config)
    from gatt.train.runtime import is_launched_main

    if is_launched_main() and not leave_outcome("summary", summary):
        sys.stdout.write(f"{summary}\n")
    return 0


@contextlib.contextmanager
def _shown_log(is_main: bool) -> Iterator[None]:
    """Show this project's log on stderr; of many processes, only the first one's."""
    logger = logging.getLogger("gatt")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    level = logger.level
    logger.setLevel(logging.INFO if is_main else logging.ERROR)
    logger.addHandler(handler)
    try:
        # transformers warns that other libraries use old names; a user can do nothing about that.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
