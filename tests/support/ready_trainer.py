"""A trainer as a run makes it, before its first step."""

from __future__ import annotations

from gatt.train import open_store, prepare
from gatt.train_config import TrainConfig
from gatt.trainer import GattTrainer
from gatt.training_arguments import training_arguments


def ready(config: TrainConfig) -> GattTrainer:
    """Return the trainer of a configuration, with its rows."""
    args = training_arguments(config)
    return prepare(config, args, open_store(config, args)).trainer
