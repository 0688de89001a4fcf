"""`GattTrainer`: TRL's trainer with the loss of this project.

One optimiser step:

1. `GattCollator` packs the combs of each micro-batch into one row of 1-D vectors.
2. `_get_num_items_in_batch` counts the units (tokens, pairs) of all micro-batches on all processes.
3. For each micro-batch `compute_loss` runs one forward pass (`gatt.comb.loss.batch_loss`). The LM head
   scores only the positions that predict a supervised token, a piece at a time.
4. Each token costs what its objective says (`gatt.comb.objectives`). Where one needs the model without
   its adapter, or with its first one, a second forward pass without gradient gives its hidden states
   before the first one.
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
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any

import torch
from peft import get_peft_model
from transformers import Trainer, set_seed
from transformers.integrations import TensorBoardCallback
from transformers.trainer_callback import PrinterCallback, ProgressCallback
from trl import SFTConfig, SFTTrainer

from gatt.comb.attention.backend import choose_backend, enable_comb_attention
from gatt.comb.attention.lengths import MOST, MOST_PACKED, kernel_lengths, micro_batch_sizes
from gatt.comb.collator import GattCollator, Layout
from gatt.comb.comb import IGNORE
from gatt.comb.head import Head
from gatt.comb.loss import batch_loss, reference_hidden
from gatt.comb.objectives.base import Units
from gatt.comb.objectives.table import TABLE, Objectives
from gatt.errors import ConfigError, TrainingError
from gatt.train.config import TrainConfig
from gatt.train.data.packing import is_packed
from gatt.train.kernels import CompileFirst, keep_kernels
from gatt.train.progress import CompactProgress
from gatt.train.runtime import from_everyone, undisturbed
from gatt.train.self_check import check_attention
from gatt.train.sharding import any_process, spreads_weights, sum_in_float32, trained_weights

_ROWS_AT_ONCE = 256
LOGS = "logs"
"""Folder of TensorBoard's files below the run's own."""
STATE_KEY = "GattTrainer"
"""Where the trainer's own counts stand among `stateful_callbacks` of a checkpoint."""

log = logging.getLogger(__name__)


class GattTrainer(SFTTrainer):  # type: ignore[misc]
    """Trains on rows of `gatt.train.data.rows.build_rows`.

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
        *,
        tokenizer: Any,
        layout: Layout,
        peft_config: Any = None,
    ) -> None:
        """Set up the trainer; nothing is trained yet.

        Args:
            model: a causal LM, or a PEFT model to go on with.
            config: of the run.
            args: of `training_arguments`.
            rows: the dataset of `build_rows`.
            tokenizer: the model's own.
            layout: of the rows.
            peft_config: of a fresh adapter, for a model without one.

        Raises:
            ConfigError: an objective needs the model without the adapter and the adapter has biases,
                `load_in_4bit` with weights that are spread over the processes, or FSDP of version 1.
        """
        self.num_supervised_tokens = 0
        """Supervised tokens trained on so far, over all processes and resumes."""
        self.objectives = Objectives.of(config)
        num_counts = sum(1 + len(objective.metrics) for _, objective in self.objectives)
        self._counts = torch.zeros(num_counts + 1, device=args.device)
        """Since the last line: units and metrics of each objective (`BatchLoss.sums`), and all tokens."""
        self._step_loss: torch.Tensor | float = 0.0
        self._logged_at = time.monotonic()
        self._backend = choose_backend(config.attn_implementation, args.device)
        is_compiled = self._backend == "flex" and layout == "comb"
        self._lengths = self._kernel_lengths(config, rows) if is_compiled else ()
        if layout == "comb":
            enable_comb_attention(model)
        adapter = {}
        if getattr(model, "is_loaded_in_4bit", False):
            if peft_config is not None:
                set_seed(args.seed)
                model, peft_config = get_peft_model(model, peft_config), None
            adapter = {name: w.data for name, w in model.named_parameters() if w.requires_grad}
        super().__init__(
            model=model,
            args=args,
            # Nothing reads the padding; the tokenizer's own may lie behind the embeddings.
            data_collator=GattCollator(pad_token_id=0, layout=layout),
            train_dataset=rows,
            processing_class=tokenizer,
            peft_config=peft_config,
        )
        sum_in_float32(self.accelerator)
        for name, weight in self.model.named_parameters():
            # Over a model in 4 bits TRL rounds the adapter to bfloat16, too coarse for small steps.
            weight.data = adapter.get(name, weight.data)
        if adapter:
            self.refuse_spread_weights("load_in_4bit", "false")
        needing = [
            name for name in (config.objective, config.plain_loss) if TABLE[name].needs_reference
        ]
        self._has_reference = bool(needing)
        if needing and any(a.bias != "none" for a in self.model.peft_config.values()):
            raise ConfigError(
                f"{' and '.join(map(repr, needing))}: the first adapter has biases of its own, which cannot "
                "be taken off: expected one with bias 'none', or objective and plain_loss 'targets'"
            )
        self._start = self._starting_weights(config)
        """Of the adapter, where an objective compares with the model that training starts from."""
        for callback in self.callback_handler.callbacks:
            if isinstance(callback, TensorBoardCallback):
                callback.logging_dir = str(config.output_dir / LOGS)
        self.remove_callback(PrinterCallback)
        self.remove_callback(ProgressCallback)
        self.add_callback(CompactProgress(has_bar=not config.disable_tqdm))
        if is_compiled:
            keep_kernels()
            self.add_callback(CompileFirst(self, has_reference=self._has_reference))

    @classmethod
    def from_dialogues(
        cls,
        model: Any,
        tokenizer: Any,
        dialogues: Iterable[Any],
        *,
        args: SFTConfig | None = None,
        peft_config: Any = None,
        **settings: Any,
    ) -> GattTrainer:
        """Return a trainer of dialogues in memory; `train` trains it and `save_model` saves the adapter.

        For folders, resume and sharding see `gatt.train.run.train`.

        Args:
            model: a causal LM, or a PEFT model to go on with.
            tokenizer: the model's own, with a chat template.
            dialogues: a list, a `Dataset` or any iterable of rows, see `gatt.train.dialogues.samples_of`.
            args: TRL's settings, of which those are taken that `TrainConfig` has too.
            peft_config: of a fresh adapter; default: `lora` of the settings.
            settings: keys of `TrainConfig`, above `args`.

        Raises:
            ConfigError: a model or tokenizer of another kind, an unknown or wrong setting.
            DataError: a row that is no dialogue, with its number.
            TrainingError: nothing can be learned.
            TemplateError: a template under which replies cannot be learned.

        Example:
            >>> from tempfile import mkdtemp
            >>> from transformers import LlamaConfig, LlamaForCausalLM
            >>> from gatt import GattTrainer
            >>> from gatt.models.load import load_tokenizer
            >>> tokenizer = load_tokenizer("smollm2-135m-instruct")
            >>> model = LlamaForCausalLM(LlamaConfig(
            ...     vocab_size=len(tokenizer), hidden_size=16, intermediate_size=16,
            ...     num_hidden_layers=1, num_attention_heads=2,
            ... ))
            >>> dialogues = [{"messages": [
            ...     {"role": "system", "content": "Speak French."}, {"role": "user", "content": "Hello!"},
            ...     {"role": "assistant", "content": "Hi."}, {"role": "user", "content": "Well?"},
            ... ], "targets": ["Bonjour !", "Très bien."]}]
            >>> trainer = GattTrainer.from_dialogues(
            ...     model, tokenizer, dialogues, output_dir=mkdtemp(), max_steps=1, report_to="none",
            ...     lora={"r": 4}, disable_tqdm=True, gradient_accumulation_steps=1,
            ... )
            >>> trainer.train().global_step
            1
        """
        from gatt.train.dialogues import trainer_arguments

        return cls(**trainer_arguments(model, tokenizer, dialogues, args, peft_config, settings))

    @staticmethod
    def _kernel_lengths(config: TrainConfig, rows: Any) -> tuple[int, ...]:
        """Return the lengths that FlexAttention is compiled for: few, since each takes seconds."""
        num_tokens = []
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            some = rows[start : start + _ROWS_AT_ONCE]
            for segments, teachers in zip(some["lengths"], some["teachers"], strict=True):
                num_tokens.append(
                    sum(n for n, is_read in zip(segments, teachers, strict=True) if not is_read)
                )
        sizes = micro_batch_sizes(num_tokens, config.per_device_train_batch_size, config.seed)
        return kernel_lengths(sizes, MOST_PACKED if is_packed(config) else MOST)

    @property
    def kernel_lengths(self) -> tuple[int, ...]:
        """Lengths of rows that FlexAttention is compiled for, rising; none with another back end."""
        return self._lengths if self._backend == "flex" else ()

    def _starting_weights(self, config: TrainConfig) -> dict[str, torch.Tensor]:
        """Return copies of the adapter's weights, by name; none where nothing compares with them.

        A checkpoint is loaded later, so a resumed run has the same ones.

        Raises:
            ConfigError: weights that are spread over the processes, or an adapter of the LM head.
        """
        started = (o for _, o in self.objectives if o.name == config.objective)
        if not any(objective.compares_with_start for objective in started):
            return {}
        self.refuse_spread_weights("preference.reference", "base")
        head = Head(self.model).module
        if hasattr(head, "base_layer") or hasattr(head, "original_module"):
            raise ConfigError(
                "preference.reference is 'init_adapter', and that adapter changes the LM head: expected 'base'"
            )
        trained = ((name, w) for name, w in self.model.named_parameters() if w.requires_grad)
        return {name: weight.detach().clone() for name, weight in trained}

    @contextmanager
    def _as_at_start(self, whole: Any) -> Iterator[None]:
        """Give the adapter the weights that training started from while the block runs."""
        weights = [(name, w) for name, w in whole.named_parameters() if name in self._start]
        now = [weight.data for _, weight in weights]
        try:
            for name, weight in weights:
                weight.data = self._start[name].to(weight.data)
            # Autocast keeps what it has cast by the weight, not by its values.
            torch.clear_autocast_cache()
            yield
        finally:
            for (_, weight), data in zip(weights, now, strict=True):
                weight.data = data
            torch.clear_autocast_cache()

    def prove_attention(self, *, is_asked_for: bool) -> None:
        """Use a back end for packed rows only where it is right on this device; every process calls it.

        On weights that are spread it cannot be checked: it is used if the user named it.
        """
        wanted, bf16 = self._backend, bool(self.args.bf16)
        if wanted == "split" and self.args.device.type == "cpu":
            return
        if self.spreads_weights:
            self._backend = wanted if is_asked_for else "split"
            log.info("attention: %r, unchecked, since the weights are spread", self._backend)
            return
        found = from_everyone(
            lambda: check_attention(self.model, (wanted,), bf16=bf16, lengths=self._lengths)[0]
        )
        if wrong := next((one for one in found if not one.is_right), None):
            # `split` is left, whatever its check finds: torch's own attention computes it everywhere.
            self._backend = "split"
            log.warning(
                "the attention back end %r is not right on %s in %s (%s): using 'split'",
                wanted, wrong.device, wrong.dtype, wrong.problem,
            )  # fmt: skip

    @property
    def spreads_weights(self) -> bool:
        """Whether no process holds the whole model: FSDP, or ZeRO stage 3."""
        return spreads_weights(self.accelerator)

    def refuse_spread_weights(self, setting: str, off: str) -> None:
        """Raise a `ConfigError` where no process holds the whole model, which a setting needs.

        `off` is the value of the setting that does not.
        """
        if self.spreads_weights:
            raise ConfigError(
                f"{setting}: the weights are spread over the processes (FSDP or ZeRO stage 3), but this "
                f"needs the whole model on each: set {setting}={off}, or launch with accelerate/ddp or "
                "accelerate/zero2"
            )

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
        reference_KH = self._reference(model, inputs) if self._has_reference else None
        units = num_items_in_batch
        if units is None:
            units = torch.tensor(self.objectives.units(inputs))
        step = Units(*torch.as_tensor(units).clamp(min=1).to(self._counts.device))
        found = batch_loss(
            model, inputs, self._backend, lengths=self._lengths,
            objectives=self.objectives, reference_KH=reference_KH, step=step,
        )  # fmt: skip
        loss = found.loss
        if num_items_in_batch is not None:
            # The gradients of the processes are averaged, but the total counts the units of all.
            loss = loss * self.accelerator.num_processes
        self._step_loss = self._step_loss + loss.detach()
        self._count(found.sums, inputs["input_ids"].numel())
        return (loss, {}) if return_outputs else loss

    def _count(self, sums: Mapping[str, torch.Tensor], num_tokens: int) -> None:
        """Add what a batch gave to the counts of the next line."""
        zeros = ((o.name, self._counts.new_zeros(1 + len(o.metrics))) for _, o in self.objectives)
        parts = [sums.get(name, zero) for name, zero in zeros]
        self._counts += torch.cat([*parts, self._counts.new_tensor([num_tokens])])

    def _reference(self, model: Any, inputs: dict[str, torch.Tensor]) -> torch.Tensor | None:
        """Return `reference_hidden` of the model without its adapter, or as training starts from it.

        None where no objective needs it.
        """
        is_needed = bool(self.objectives.reads_reference(inputs).any())
        # A forward of sharded weights takes all processes, also those without such a row.
        if not (any_process(self.accelerator, is_needed) if self.spreads_weights else is_needed):
            return None
        # Unwrapped: a forward of DDP's on some of the processes alone would hang.
        whole = self.accelerator.unwrap_model(model)
        is_start_K = self.objectives.compares_with_start(inputs)
        if self._start and bool(is_start_K.any()):
            with torch.no_grad(), undisturbed(whole), self._as_at_start(whole):
                start_KH = reference_hidden(
                    whole, inputs, self._backend, lengths=self._lengths, objectives=self.objectives
                )
            if bool(is_start_K.all()):
                return start_KH
        trained = [(weight, weight.requires_grad) for weight in whole.parameters()]
        with torch.no_grad(), undisturbed(whole), whole.disable_adapter():
            # PEFT freezes the adapter, and FSDP2 stores at its first forward the type of trained gradients.
            for weight, is_trained in trained:
                weight.requires_grad_(is_trained)
            hidden_KH = reference_hidden(
                whole, inputs, self._backend, lengths=self._lengths, objectives=self.objectives
            )
        if self._start and bool(is_start_K.any()):
            hidden_KH = torch.where(is_start_K[:, None], start_KH, hidden_KH)
        return hidden_KH if is_needed else None

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
        """Log what was measured beside training: its seconds count for no speed of training.

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
        found = {"loss": step_loss, "gradient norm": float(norm) if norm is not None else 0.0}
        for name, value in found.items():
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
        super()._save_checkpoint(model, trial)

    def _init_training_state(self, *args: Any, **kwargs: Any) -> tuple[int, int]:
        found: tuple[int, int] = super()._init_training_state(*args, **kwargs)
        saved = self.state.stateful_callbacks.get(STATE_KEY, {}).get("attributes", {})
        self.num_supervised_tokens = saved.get("num_supervised_tokens", 0)
        self._logged_at = time.monotonic()
        return found

    def _send_telemetry(self) -> None:
        """Send nothing: training data and models are the user's own business."""
