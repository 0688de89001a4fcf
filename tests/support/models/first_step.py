"""Train one optimiser step and write what it saw: run by one process or by many.

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
from gatt.train.run import open_store, prepare
from gatt.train.runtime import current_runtime, leave
from gatt.train.trainer import GattTrainer


def randomise_lora_b(model: torch.nn.Module, seed: int = 1) -> None:
    """Draw every LoRA B at random: at zero, as PEFT starts, the gradient of A would be zero."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.copy_(torch.randn(weight.shape, generator=generator) * 0.05)


class GradientRecorder(TrainerCallback):
    """Keeps the gradients as they are in front of each optimiser step."""

    def __init__(self) -> None:
        self.gradients: list[dict[str, torch.Tensor]] = []

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.gradients.append(
            {
                name.removeprefix("module."): weight.grad.detach().clone()
                for name, weight in kwargs["model"].named_parameters()
                if weight.grad is not None
            }
        )


def record_steps(trainer: GattTrainer) -> tuple[list[float], list[dict[str, torch.Tensor]]]:
    """Train with a random LoRA B; return losses and gradients of the steps."""
    randomise_lora_b(trainer.model)
    recorder = GradientRecorder()
    trainer.add_callback(recorder)
    trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    return losses, recorder.gradients


def main(config_path: str, output: str) -> None:
    config = load_config(TrainConfig, Path(config_path))
    args = training_arguments(config)
    prepared = prepare(config, args, open_store(config, args))
    losses, gradients = record_steps(prepared.trainer)
    runtime = current_runtime()
    if runtime.is_main_process:
        torch.save(
            {
                "world_size": runtime.num_processes,
                "losses": losses,
                "gradients": gradients,
                "plain_kl": [
                    line["plain_kl"]
                    for line in prepared.trainer.state.log_history
                    if "plain_kl" in line
                ],
                "num_supervised_tokens": prepared.trainer.num_supervised_tokens,
                "num_padding_rows": prepared.report.num_padding_rows,
            },
            output,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
    leave(0)
