"""A trainer before its first step, and what it sees in its steps."""

from __future__ import annotations

from typing import Any

import torch
from transformers.trainer_callback import TrainerCallback

from gatt.train.arguments import training_arguments
from gatt.train.config import TrainConfig
from gatt.train.run import open_store, prepare
from gatt.train.trainer import RowTrainer
from tests.support.models.tiny import randomise


def record_steps(trainer: RowTrainer) -> tuple[list[float], list[dict[str, torch.Tensor]]]:
    """Train with a random LoRA B; return the losses, and the gradients in front of each optimiser step."""
    randomise(trainer.model)
    gradients: list[dict[str, torch.Tensor]] = []

    class Recorder(TrainerCallback):
        def on_pre_optimizer_step(self, *_: Any, model: torch.nn.Module, **__: Any) -> None:
            found = {n: w.grad for n, w in model.named_parameters() if w.grad is not None}
            gradients.append({n.removeprefix("module."): g.clone() for n, g in found.items()})

    trainer.add_callback(Recorder())
    trainer.train()
    return logged(trainer, "loss"), gradients


def logged(trainer: RowTrainer, key: str) -> list[float]:
    """Return what a trainer has logged under a key."""
    return [line[key] for line in trainer.state.log_history if key in line]


def ready(config: TrainConfig) -> RowTrainer:
    """Return the trainer of a configuration, with its rows."""
    args = training_arguments(config)
    return prepare(config, args, open_store(config, args)).trainer
