"""`RowTrainer`: TRL's trainer on rows, with the loss of this project.

One optimiser step:

1. `GattCollator` packs the combs of each micro-batch into one row of 1-D vectors.
2. `_get_num_items_in_batch` counts the units (tokens, pairs) of all micro-batches on all processes.
3. For each micro-batch `compute_loss` runs one forward pass (`gatt.comb.loss.batch_loss`). The LM head
   scores only the positions that predict a supervised token, a piece at a time.
4. Each token costs what its objective says (`gatt.comb.objectives`). Where one needs the model without
   its adapter, or with its first one, a second forward pass without gradient gives its hidden states
   before the first one (`gatt.train.reference`).
5. The sums are divided by the counts of step 2, so the step minimises the mean over all its tokens (or
   pairs), however they are spread over micro-batches and processes.
6. `_get_grad_norm` stops the run if the loss or the gradient is not finite.
7. The base class clips the gradient, steps the optimiser and the schedule, logs and saves.

This file alone leans on the inside of TRL; `tests/unit/gatt/train/test_trl_contract.py` fails
when an upgrade moves what it leans on.
"""

from __future__ import annotations

import logging
import math
import re
import time
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors import SafetensorError
from transformers import Trainer, set_seed
from transformers.integrations import TensorBoardCallback
from transformers.trainer_callback import PrinterCallback, ProgressCallback
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR
from trl import SFTConfig, SFTTrainer

from gatt.comb.attention.backend import choose_backend, enable_comb_attention
from gatt.comb.attention.lengths import MOST, MOST_PACKED, kernel_lengths, micro_batch_sizes
from gatt.comb.collator import GattCollator
from gatt.comb.comb import IGNORE
from gatt.comb.loss import batch_loss
from gatt.comb.objectives.base import Units
from gatt.comb.objectives.table import Objectives
from gatt.errors import StoreError, TrainingError
from gatt.runs.atomic_file import NO_SPACE
from gatt.train.config import TrainConfig
from gatt.train.data.packing import is_packed
from gatt.train.data.report import RowReport
from gatt.train.data.rows import row_lengths
from gatt.train.fitting import adapter_errors, check_positions, fresh_adapter
from gatt.train.kernels import CompileFirst, keep_kernels
from gatt.train.progress import CompactProgress
from gatt.train.reference import Reference
from gatt.train.self_check import usable_backend
from gatt.train.sharding import (
    refuse_spread_weights,
    spreads_weights,
    sum_in_float32,
    trained_weights,
)

LOGS = "logs"
"""Folder of TensorBoard's files below the run's own."""
STATE_KEY = "GattTrainer"
"""Where the trainer's own counts stand among `stateful_callbacks` of a checkpoint."""
_WRITE_FAILED: Final = re.compile(
    r"inline_container|PytorchStreamWriter|iostream error|cannot be opened|Parent directory .* does not exist"
)
"""What a RuntimeError of `torch.save` says where the disk refuses; it has no class and no number of its own."""

log = logging.getLogger(__name__)


class RowTrainer(SFTTrainer):  # type: ignore[misc]
    """Trains on rows of `gatt.train.data.rows`, of a run (`gatt.train.run`) or of `gatt.GattTrainer`.

    The loss of an optimiser step is the mean over the supervised tokens of all
    its micro-batches on all processes, however they are spread; with `preference`
    the mean over their pairs, and that over tokens of other objectives beside it. A
    micro-batch without a target contributes zero and stays in the graph.
    """

    # `compute_loss` divides by the tokens of the whole step: the base class must not divide again.
    loss_is_scaled_for_ga = True

    def __init__(
        self,
        model: Any,
        config: TrainConfig,
        args: SFTConfig,
        rows: Any,
        report: RowReport,
        *,
        tokenizer: Any,
        peft_config: LoraConfig | None = None,
    ) -> None:
        """Set up the trainer; nothing is trained yet.

        A back end of packed rows that is not right on this device is not used (`usable_backend`).

        `args` are those of `gatt.train.arguments`, rows and report those of `build_rows`. `peft_config` is of a
        fresh adapter, for a model without one; None takes `config.lora`.

        Raises:
            ConfigError: rows longer than the model's positions, an adapter that does not fit the model or the
                objective (`Reference`), `load_in_4bit` with weights that are spread over the processes, or
                FSDP of version 1.
        """
        check_positions(model, config.model, report.num_positions)
        args.gradient_accumulation_steps = report.rows_a_step
        if peft_config is None and not isinstance(model, PeftModel):
            peft_config = fresh_adapter(model, config)
        self.num_supervised_tokens = 0
        """Supervised tokens trained on so far, over all processes and resumes."""
        self.objectives = Objectives.of(config)
        num_counts = sum(1 + len(objective.metrics) for _, objective in self.objectives)
        self._counts = torch.zeros(num_counts + 1, device=args.device)
        """Since the last line: units and metrics of each objective (`BatchLoss.sums`), and all tokens."""
        self._step_loss: torch.Tensor | float = 0.0
        self._logged_at = time.monotonic()
        self._backend = choose_backend(config.attn_implementation, args.device)
        is_comb = report.layout == "comb"
        is_compiled = is_comb and self._backend == "flex"
        if is_compiled:
            keep_kernels()
        self._lengths = self._kernel_lengths(config, rows) if is_compiled else ()
        if is_comb:
            enable_comb_attention(model)
        adapter = {}
        with adapter_errors(config.model):
            if getattr(model, "is_loaded_in_4bit", False):
                if peft_config is not None:
                    set_seed(args.seed)
                    model, peft_config = get_peft_model(model, peft_config), None
                adapter = {name: w.data for name, w in model.named_parameters() if w.requires_grad}
            super().__init__(
                model=model,
                args=args,
                # Nothing reads the padding; the tokenizer's own may lie behind the embeddings.
                data_collator=GattCollator(pad_token_id=0, layout=report.layout),
                train_dataset=rows,
                processing_class=tokenizer,
                peft_config=peft_config,
            )
        sum_in_float32(self.accelerator)
        for name, weight in self.model.named_parameters():
            # Over a model in 4 bits TRL rounds the adapter to bfloat16, too coarse for small steps.
            weight.data = adapter.get(name, weight.data)
        if adapter:
            refuse_spread_weights(self.accelerator, "load_in_4bit", "false")
        self._reference = Reference(self.model, self.objectives, config, self.accelerator)
        for callback in self.callback_handler.callbacks:
            if isinstance(callback, TensorBoardCallback):
                callback.logging_dir = str(config.output_dir / LOGS)
        self.remove_callback(PrinterCallback)
        self.remove_callback(ProgressCallback)
        self.add_callback(CompactProgress(has_bar=not config.disable_tqdm))
        if is_comb:
            self._backend = usable_backend(
                self.model, self._backend, bf16=bool(args.bf16), lengths=self._lengths,
                is_spread=spreads_weights(self.accelerator),
                is_asked_for=config.attn_implementation is not None,
            )  # fmt: skip
        if is_compiled:
            self.add_callback(CompileFirst(self, has_reference=self._reference.is_needed))

    @staticmethod
    def _kernel_lengths(config: TrainConfig, rows: Any) -> tuple[int, ...]:
        """Return the lengths that FlexAttention is compiled for: few, since each takes seconds."""
        sizes = micro_batch_sizes(
            row_lengths(rows), config.per_device_train_batch_size, config.seed
        )
        return kernel_lengths(sizes, MOST_PACKED if is_packed(config) else MOST)

    @property
    def kernel_lengths(self) -> tuple[int, ...]:
        """Lengths of rows that FlexAttention is compiled for, rising; none with another back end."""
        return self._lengths if self._backend == "flex" else ()

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, torch.Tensor],
        return_outputs: bool = False,
        num_items_in_batch: torch.Tensor | int | None = None,
    ) -> Any:
        """Return this micro-batch's share of the mean loss of the optimiser step.

        Logits are not kept, so there are no outputs to return. `num_items_in_batch` holds the `Units`
        of the whole step on all processes; outside of training it is None.
        """
        # Before the graph of the main forward pass takes memory.
        reference_KH = self._reference.hidden(model, inputs, self._backend, self._lengths)
        units = self.objectives.units(inputs) if num_items_in_batch is None else num_items_in_batch
        step = Units(*torch.as_tensor(units).clamp(min=1).to(self._counts.device))
        batch = batch_loss(
            model, inputs, self._backend, lengths=self._lengths,
            objectives=self.objectives, reference_KH=reference_KH, step=step,
        )  # fmt: skip
        loss = batch.loss
        if num_items_in_batch is not None:
            # The gradients of the processes are averaged, but the total counts the units of all.
            loss = loss * self.accelerator.num_processes
        self._step_loss = self._step_loss + loss.detach()
        self._count(batch.sums, inputs["input_ids"].numel())
        return (loss, {}) if return_outputs else loss

    def _count(self, sums: Mapping[str, torch.Tensor], num_tokens: int) -> None:
        """Add what a batch gave to the counts of the next line."""
        zeros = ((o.name, self._counts.new_zeros(1 + len(o.metrics))) for _, o in self.objectives)
        parts = [sums.get(name, zero) for name, zero in zeros]
        self._counts += torch.cat([*parts, self._counts.new_tensor([num_tokens])])

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Log with the objectives' metrics, tokens seen and speed since the last line, on every process."""
        now = time.monotonic()
        *counts, tokens = self.accelerator.reduce(self._counts, reduction="sum").tolist()
        if tokens:
            left = iter(counts)
            for _, objective in self.objectives:
                num_units, *sums = islice(left, 1 + len(objective.metrics))
                if num_units:
                    logs.update(
                        {n: s / num_units for n, s in zip(objective.metrics, sums, strict=True)}
                    )
            logs["tokens_per_second"] = tokens / max(now - self._logged_at, 1e-9)
        logs["num_supervised_tokens"] = self.num_supervised_tokens
        self._counts = torch.zeros_like(self._counts)
        self._logged_at = now
        super().log(logs, start_time)

    def log_beside(self, values: Mapping[str, float], seconds: float) -> None:
        """Log measurements that are no part of training; their seconds do not count for its speed.

        Unlike `log`, it leaves alone what has been counted since the last line.
        """
        self._logged_at += seconds
        # A line of the log that is due would count as written.
        is_due = self.control.should_log
        Trainer.log(self, dict(values))
        self.control.should_log = is_due

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        """Set up the schedule; a share of warm-up leaves at least one step.

        Transformers rounds the share up, and the first step of a warm-up has a learning rate of
        zero: a run of one step would change nothing.
        """
        args = self.args
        if (
            args.warmup_steps < 1
            and args.get_warmup_steps(num_training_steps) >= num_training_steps
        ):
            args.warmup_steps = num_training_steps - 1
        return super().create_scheduler(num_training_steps, optimizer)

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Save the adapter in float32; every process calls it."""
        weights = trained_weights(self.model, self.accelerator)
        if weights is None:
            super().save_model(output_dir, _internal_call)
        else:
            self._save(output_dir, state_dict=weights)

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """Write none: the adapter gets this project's own (`gatt.train.run_folder`)."""

    def _get_num_items_in_batch(
        self, batch_samples: list[dict[str, torch.Tensor]], device: torch.device
    ) -> torch.Tensor:
        """Return the `Units` of an optimiser step over all processes, and count its supervised tokens.

        The base class counts only for models whose forward takes loss arguments.
        """
        supervised = sum(int((b["labels"] != IGNORE).sum()) for b in batch_samples)
        units = [sum(n) for n in zip(*map(self.objectives.units, batch_samples), strict=True)]
        counts = torch.tensor([supervised, *units], device=device)
        if self.accelerator.num_processes > 1:
            counts = self.accelerator.reduce(counts, reduction="sum")
        self.num_supervised_tokens += int(counts[0])
        return counts[1:]

    def _get_grad_norm(self, model: Any, grad_norm: Any = None) -> Any:
        """Return the gradient's norm, which comes before every optimiser step.

        The norm is the same on every process, so all of them stop together and
        the weights of the last step stay whole.

        Raises:
            TrainingError: norm or loss is NaN or infinite.
        """
        norm = super()._get_grad_norm(model, grad_norm=grad_norm)
        step_loss, self._step_loss = float(self._step_loss), 0.0
        values = {"loss": step_loss, "gradient norm": float(norm) if norm is not None else 0.0}
        for name, value in values.items():
            if not math.isfinite(value):
                raise TrainingError(
                    f"step {self.state.global_step + 1}: the {name} is {value}: lower "
                    f"learning_rate (now {self.args.learning_rate:g}) or max_grad_norm, or "
                    "train in float32 (bf16=false); the last checkpoint is intact"
                )
        return norm

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        self.state.stateful_callbacks[STATE_KEY] = {
            "args": {},
            "attributes": {"num_supervised_tokens": self.num_supervised_tokens},
        }
        try:
            super()._save_checkpoint(model, trial)
        except (OSError, SafetensorError, RuntimeError) as error:
            if not _is_refused_write(error):
                raise
            step = f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
            raise StoreError(
                f"{Path(self.args.output_dir) / step}: cannot write the checkpoint: "
                f"{' '.join(str(error).split())}: free some space there and run the same command again: it "
                "goes on from the last checkpoint"
            ) from error

    def _init_training_state(self, *args: Any, **kwargs: Any) -> tuple[int, int]:
        state: tuple[int, int] = super()._init_training_state(*args, **kwargs)
        saved = self.state.stateful_callbacks.get(STATE_KEY, {}).get("attributes", {})
        self.num_supervised_tokens = saved.get("num_supervised_tokens", 0)
        self._logged_at = time.monotonic()
        return state

    def _send_telemetry(self) -> None:
        """Send nothing: training data and models are the user's own business."""


def _is_refused_write(error: Exception) -> bool:
    """Whether the disk refused a part of a checkpoint; running out of memory, for one, is something else."""
    if isinstance(error, OSError):
        return error.errno in NO_SPACE
    return isinstance(error, SafetensorError) or bool(_WRITE_FAILED.search(str(error)))
