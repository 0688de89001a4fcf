"""Seconds and peak memory of a contender's step."""

from __future__ import annotations

import gc
import time
from pathlib import Path
from typing import Any

import torch
from benchmark.contenders import Contender, Setting, base_model
from benchmark.flops import ModelShape
from transformers.trainer_callback import TrainerCallback

from gatt.comb.comb import IGNORE


class StepTimer(TrainerCallback):  # type: ignore[misc]
    """Seconds of each optimiser step."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """Start the clock."""
        synchronise()
        self._start = time.perf_counter()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """Stop it."""
        synchronise()
        self.seconds.append(time.perf_counter() - self._start)


def synchronise() -> None:
    """Wait for the device, so that the clock sees its work."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def measure(contender: Contender, setting: Setting, warm_up: int) -> dict[str, Any]:
    """Train some steps on a fresh model: seconds, the first loss and the peak of memory in bytes.

    On a CPU the first step would pay for what torch loads and the system maps on first
    use: a pass forward and back over one plain row comes before the clock. On a GPU whole
    steps do (`warm_up`), whose kernels are those of the others; without checkpointing, which
    begins with the training, such a pass would be the peak.
    """
    # Fresh, since TRL's trainer leaves its own forward in the model.
    model = base_model(setting)
    for weight in model.parameters():
        # Copied from the mapped file, or the first step would seem to take their memory.
        weight.data = weight.data.clone()
    longest = max(row.num_tokens for row in contender.rows)
    trainer = contender.make_trainer(model)
    timer = StepTimer()
    trainer.add_callback(timer)
    held = start_of_peak()
    if setting.device == "cpu":
        row = torch.ones(1, longest, dtype=torch.long)
        output = trainer.model(input_ids=row, use_cache=False, logits_to_keep=1)
        output.logits.sum().backward()
        trainer.model.zero_grad()
    trainer.train()
    result = {
        "seconds": timer.seconds[warm_up:],
        "loss": next(entry["loss"] for entry in trainer.state.log_history if "loss" in entry),
        # The kernel's two counters are some pages apart: a peak below the start is none.
        "peak_bytes": max(0, peak_bytes() - held),
        "num_supervised": num_supervised(trainer.train_dataset),
        "shape": ModelShape.of(trainer.model),
    }
    del trainer, model
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return result


def num_supervised(rows: Any) -> int:
    """Return the tokens that carry loss in a trainer's own rows: this project's, or TRL's."""
    return sum(label != IGNORE for row in rows for label in row["labels"])


def start_of_peak() -> int:
    """Forget the peak of memory so far and return what is held now, in bytes."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated()
    Path("/proc/self/clear_refs").write_text("5")  # Linux: the peak starts anew
    return status_bytes("VmRSS")


def peak_bytes() -> int:
    """Return the peak of memory since then."""
    return torch.cuda.max_memory_allocated() if torch.cuda.is_available() else status_bytes("VmHWM")


def status_bytes(name: str) -> int:
    """Return a figure of `/proc/self/status`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{name}:"))) * 1024
