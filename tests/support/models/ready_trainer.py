"""A trainer as a run makes it, before its first step."""

from __future__ import annotations

from gatt.train.arguments import training_arguments
from gatt.train.config import TrainConfig
from gatt.train.run import open_store, prepare
from gatt.train.trainer import GattTrainer


def ready(config: TrainConfig) -> GattTrainer:
    """Return the trainer of a configuration, with its rows."""
    args = training_arguments(config)
    return prepare(config, args, open_store(config, args)).trainer
