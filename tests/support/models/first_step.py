"""A trainer before its first step, and what it sees in its steps: in one process or in many.

Usage: python -m tests.support.models.first_step CONFIG OUTPUT
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from transformers.trainer_callback import TrainerCallback

from gatt.config.load import load_config
from gatt.train.arguments import training_arguments
from gatt.train.config import TrainConfig
from gatt.train.run import PreparedRun, open_store, prepare
from gatt.train.runtime import current_runtime, leave
from gatt.train.trainer import RowTrainer


def randomise_lora_b(model: torch.nn.Module) -> None:
    """Draw every LoRA B at random: at zero, as PEFT starts, the gradient of A would be zero."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            # TRL's frozen copy of a first adapter is called "ref".
            if "lora_B" in name and ".ref." not in name:
                weight.copy_(torch.randn(weight.shape, generator=generator) * 0.05)


def record_steps(trainer: RowTrainer) -> tuple[list[float], list[dict[str, torch.Tensor]]]:
    """Train with a random LoRA B; return the losses, and the gradients in front of each optimiser step."""
    randomise_lora_b(trainer.model)
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


def prepared_run(config: TrainConfig) -> PreparedRun:
    """Return what a run of a configuration makes before its first step."""
    args = training_arguments(config)
    return prepare(config, args, open_store(config, args))


def ready(config: TrainConfig) -> RowTrainer:
    """Return the trainer of a configuration, with its rows."""
    return prepared_run(config).trainer


def first_steps(config: TrainConfig) -> dict[str, Any]:
    """Train with a random LoRA B; return what the process saw, and what it has of the others."""
    prepared = prepared_run(config)
    losses, gradients = record_steps(prepared.trainer)
    return {
        "world_size": current_runtime().num_processes,
        "losses": losses,
        "gradients": gradients,
        "plain_kl": logged(prepared.trainer, "plain_kl"),
        "num_supervised_tokens": prepared.trainer.num_supervised_tokens,
        "num_padding_rows": prepared.report.num_padding_rows,
    }


def main(config_path: str, output: str) -> None:
    found = first_steps(load_config(TrainConfig, Path(config_path)))
    if current_runtime().is_main_process:
        torch.save(found, output)


if __name__ == "__main__":
    main(*sys.argv[1:])
    leave(0)
