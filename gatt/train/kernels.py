"""FlexAttention's kernels: compiled before the first step, and kept on disk between runs."""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING, Any, Final

import torch
from transformers.trainer_callback import TrainerCallback

from gatt.comb.attention.lengths import BLOCK
from gatt.comb.collator import GattCollator, combs_to_features
from gatt.comb.comb import IGNORE, Comb
from gatt.comb.loss import batch_loss, reference_hidden
from gatt.models.packaged import cache_folder

if TYPE_CHECKING:
    from gatt.train.trainer import RowTrainer

VARIABLE: Final = "TORCHINDUCTOR_CACHE_DIR"
"""By which torch's compiler finds what it compiled in an earlier run."""

log = logging.getLogger(__name__)


def keep_kernels() -> str:
    """Return the folder of compiled kernels: `TORCHINDUCTOR_CACHE_DIR`, else one that survives a restart.

    Call it before anything is compiled: torch's own default is a folder of temporary files.
    """
    return os.environ.setdefault(VARIABLE, str(cache_folder() / "kernels"))


class CompileFirst(TrainerCallback):  # type: ignore[misc]
    """Runs a row of every length through the model, forward and backward, before the first step.

    Without it a run stands still whenever a length is first met, and processes wait for one another. The
    rows have no target, so that no weight moves; draws and counts are as if they had not been. What the
    teacher of `distil` reads has lengths of its own, which are compiled when they are first met.

    With `has_reference` steps also have forward passes without gradient.
    """

    def __init__(self, trainer: RowTrainer, *, has_reference: bool) -> None:
        self._trainer = trainer
        self._has_reference = has_reference

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        """Compile all kernels of the run; nothing with another back end."""
        trainer = self._trainer
        lengths = trainer.kernel_lengths
        if not lengths:
            return
        listed = " and ".join(f"{length:,}" for length in lengths)
        if trainer.is_deepspeed_enabled:
            # Its backward pass takes a step of the optimiser.
            log.info("attention: compiled for rows of %s tokens when they are first met", listed)
            return
        log.info(
            "attention: compiling for rows of %s tokens before the first step (kept in %s)",
            listed, os.environ.get(VARIABLE),
        )  # fmt: skip
        start = time.monotonic()
        device = trainer.args.device
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            for length in lengths:
                _pass_through(trainer, length, has_reference=self._has_reference)
        seconds = time.monotonic() - start
        trainer.log_beside({"compile_seconds": round(seconds, 1)}, seconds)


def _pass_through(trainer: RowTrainer, length: int, *, has_reference: bool) -> None:
    """Run a row of so many tokens, a multiple of `BLOCK`, through the model as a step does."""
    model, lengths, objectives = trainer.model_wrapped, trainer.kernel_lengths, trainer.objectives
    # Short dialogues, since a model may have few positions.
    combs = [Comb((0,) * BLOCK, (IGNORE,) * BLOCK)] * (length // BLOCK)
    row = GattCollator(0)([combs_to_features(combs)])
    batch = {name: vector.to(trainer.args.device) for name, vector in row.items()}
    model.train()
    with trainer.compute_loss_context_manager():
        loss = batch_loss(model, batch, "flex", lengths=lengths, objectives=objectives).loss
    trainer.accelerator.backward(loss)
    trainer.model.zero_grad()
    if has_reference:
        # A forward pass without gradient has a kernel of its own.
        whole = trainer.accelerator.unwrap_model(model)
        with torch.no_grad(), trainer.compute_loss_context_manager():
            reference_hidden(whole, batch, "flex", lengths=lengths, objectives=objectives)
