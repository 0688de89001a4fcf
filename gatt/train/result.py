"""What a training run gives, and how its adapters are saved."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gatt.train.run_folder import BEST_ADAPTER, TrainStore
from gatt.train.runtime import current_runtime, wait_for_everyone

if TYPE_CHECKING:
    from gatt.train.trainer import GattTrainer


@dataclass(frozen=True, kw_only=True)
class TrainResult:
    """What a training run gave."""

    output_dir: Path
    adapter: Path
    """The folder that `gatt.models.load.load_adapter` takes."""
    is_new: bool
    """False where the same run was already finished, and nothing was done."""
    num_steps: int
    train_loss: float
    """Mean over the logged optimiser steps."""
    num_supervised_tokens: int
    """Trained on, over all epochs and resumes."""
    seconds: float
    """Of this start."""
    best_step: int | None = None
    """Of the adapter that adhered best, if that was tracked."""
    best_adherence: float | None = None
    """Its adherence at the last tracked turn."""

    @property
    def best_adapter(self) -> Path | None:
        """Its folder."""
        return None if self.best_step is None else self.output_dir / BEST_ADAPTER


def save_adapter(trainer: GattTrainer, target: Path, write: Callable[[Path, Path], None]) -> None:
    """Save the adapter as it is; every process calls it.

    Args:
        trainer: that trains it.
        target: its folder.
        write: makes it of a draft; called on the main process.
    """
    draft = target.with_name(f".{target.name}.tmp")
    is_main = current_runtime().is_main_process
    if is_main:
        shutil.rmtree(draft, ignore_errors=True)
    wait_for_everyone()
    trainer.save_model(str(draft))
    if is_main:
        write(draft, target)
    wait_for_everyone()


def result_so_far(trainer: GattTrainer, otherwise: float | None = None) -> dict[str, Any]:
    """Return loss and tokens so far; `otherwise` is the loss where none was logged."""
    return {
        "train_loss": _mean_loss(trainer.state.log_history, otherwise),
        "num_supervised_tokens": trainer.num_supervised_tokens,
    }


def best_so_far(store: TrainStore) -> dict[str, Any]:
    """Return what is told of the best adapter, nothing where none was kept."""
    from gatt.train.tracking.callback import read_tracked

    found = read_tracked(store.best_adapter)
    if found is None:
        return {}
    return {
        "best_step": found["step"],
        "best_adherence": found["adherence"][str(found["turn"])],
    }


def _mean_loss(history: Sequence[Mapping[str, Any]], otherwise: float | None) -> float | None:
    """Return the mean loss of the logged steps of all starts; `otherwise` where none was logged.

    The trainer's own mean is of this start alone: 0 for a run that was stopped
    between its last step and its adapter.
    """
    total, last = 0.0, 0
    for entry in history:
        if "loss" in entry:
            total += entry["loss"] * (entry["step"] - last)
            last = entry["step"]
    return total / last if last else otherwise
