"""The configuration of a training run. Settings of transformers, PEFT and TRL have their names there."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from gatt.errors import ConfigError
from gatt.models.template_variables import check_template_variables

DEFAULT_MODEL = "smollm2-135m-instruct"


@dataclass(frozen=True, kw_only=True)
class LoraSettings:
    """The adapter, in PEFT's own names (`peft.LoraConfig`)."""

    r: int = 16
    """Rank of the update, at least 1."""
    lora_alpha: int = 32
    """The update is scaled by `lora_alpha / r`."""
    use_rslora: bool = False
    """Scale by `lora_alpha / sqrt(r)` instead."""
    lora_dropout: float = 0.0
    """Dropout on the input of the update, in [0, 1)."""
    target_modules: str | tuple[str, ...] = "all-linear"
    """Modules to adapt, as in PEFT: a list of names, a regular expression for the whole name, or `all-linear`
    for every linear layer but the LM head."""

    def __post_init__(self) -> None:
        problems = _out_of_range(self, "at least 1", "r", "lora_alpha")
        if not 0 <= self.lora_dropout < 1:
            problems.append(f"lora_dropout is {self.lora_dropout}: expected 0 <= lora_dropout < 1")
        if not self.target_modules:
            problems.append("target_modules is empty: expected names, or 'all-linear'")
        if isinstance(self.target_modules, str):
            try:
                re.compile(self.target_modules)
            except re.error as error:
                problems.append(
                    f"target_modules {self.target_modules!r} is no regular expression: {error}; expected names "
                    "as a list, an expression for their whole names, or 'all-linear'"
                )
        _raise(problems)


@dataclass(frozen=True, kw_only=True)
class TrackConfig:
    """Measures adherence turn by turn during training.

    The adapter with the highest adherence at the last of `turns` is stored in `output_dir/best_adapter`.
    """

    every_steps: int = 50
    """Optimiser steps between two measurements; the last step is always measured."""
    suite: str = "behaviour"
    """A shipped suite (`gatt suite list`) or the YAML file of one. It sets dialogues, instructions and
    sampling. Dialogues that are trained on are refused."""
    num_dialogues: int = 8
    """Cases in each of the suite's splits. A suite with a file of cases takes all of them."""
    turns: tuple[int, ...] | None = (1, 2, 4, 8, 20)
    """Turns at which replies are judged; null takes those of the suite."""
    history: Literal["reference", "own"] = "reference"
    """`reference`: the model reads the dialogue's replies, and answers the judged turns only; `own`: it reads
    its own replies, and so answers all turns up to the last judged one."""

    def __post_init__(self) -> None:
        problems = _out_of_range(self, "at least 1", "every_steps", "num_dialogues")
        turns = self.turns
        if turns is not None and (turns != tuple(sorted(set(turns))) or not turns or turns[0] < 1):
            problems.append(f"turns is {list(turns)}: expected rising turns from 1 on, or null")
        _raise(problems)


@dataclass(frozen=True, kw_only=True)
class LaunchSettings:
    """The processes that `gatt train` and `gatt run` start; `accelerate launch` sets its own."""

    num_processes: int | None = None
    """Number of processes that share each step. null: one for each visible GPU; 1: the process of the command.
    The number does not change the rows of a step."""
    config_file: str | None = None
    """Configuration of Accelerate: a file, or a name such as `accelerate/zero3` (`gatt configs`). null:
    `accelerate/ddp` if the model fits on one GPU, else `accelerate/fsdp2`."""

    def __post_init__(self) -> None:
        _raise(_out_of_range(self, "at least 1", "num_processes"))


@dataclass(frozen=True, kw_only=True)
class PreferenceSettings:
    """The objective `preference`, in TRL's own names (`trl.DPOConfig`) but for `reference`."""

    beta: float = 0.1
    """Above 0. A larger value keeps the model nearer to the reference model."""
    loss_type: tuple[Literal["sigmoid", "sigmoid_norm", "sft"], ...] = ("sigmoid",)
    """`sigmoid` is DPO. `sigmoid_norm` is DPO over the mean of each reply's tokens, for pairs of different
    length. With `sft` the chosen reply is taught as well (`[sigmoid, sft]`: RPO)."""
    loss_weights: tuple[float, ...] | None = None
    """A weight above 0 for each of `loss_type`; null: all 1."""
    reference: Literal["base", "init_adapter"] = "base"
    """The reference model: `base`, without an adapter, or `init_adapter`, with the adapter that training starts
    from (as `gatt improve` does). `init_adapter` cannot be used with sharded weights (FSDP, ZeRO stage 3) or
    with an adapter of the LM head."""

    def __post_init__(self) -> None:
        problems = _out_of_range(self, "above 0", "beta")
        kinds = set(self.loss_type)
        if not kinds - {"sft"} or len(kinds) < len(self.loss_type):
            problems.append(
                f"loss_type is {list(self.loss_type)}: expected sigmoid, sigmoid_norm or both, each once, "
                "with sft or without"
            )
        weights = self.loss_weights
        is_fit = weights is None or len(weights) == len(self.loss_type)
        if not is_fit or not all(0 < weight < math.inf for weight in weights or ()):
            problems.append(
                f"loss_weights is {list(weights or ())}: expected a number above 0 for each of loss_type"
            )
        _raise(problems)


@dataclass(frozen=True, kw_only=True)
class DistilSettings:
    """The objective `distil`: the divergence from its teacher, and what the teacher reads."""

    direction: Literal["forward", "reverse"] = "forward"
    """`forward`: KL(teacher || student), which covers all that the teacher would say; `reverse`:
    KL(student || teacher), which avoids what the teacher would not say."""
    coef: float = 1.0
    """Weight of a token learned by `distil` against one of a plain dialogue, above 0."""
    context_turns: int | None = None
    """Number of latest exchanges that the teacher reads before the message that is answered, at least 0;
    null: all that the student reads. With a number, each turn is read separately. If the user asks for
    something told earlier, the teacher reads all."""
    brief: str | None = None
    """Text that the teacher reads with every message, and the student never; null for none. Take
    `teacher.brief` of the run that sampled the targets."""

    def __post_init__(self) -> None:
        _raise(
            [
                *_out_of_range(self, "above 0", "coef"),
                *_out_of_range(self, "at least 0", "context_turns"),
            ]
        )


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """One training run: samples in, a LoRA adapter out.

    The defaults of `history` and `supervise` rest on the ablations of `results/README.md`; those of the
    adapter, the optimiser and its schedule are usual values that were not measured against others.
    """

    samples: tuple[Path, ...]
    """Files of samples, as `gatt synth` writes them, also compressed (`.gz`, `.xz`)."""
    output_dir: Path
    """Folder for checkpoints, logs and the adapter; it belongs to one configuration."""
    model: str = DEFAULT_MODEL
    """The chat model to adapt: a name of `gatt models`, a folder, a .gguf file, or a hub id."""
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Variables of the model's chat template, such as `{enable_thinking: false}` for a model that reasons
    before it replies. The engine that uses the adapter needs the same."""
    init_adapter: Path | None = None
    """Start from this adapter, with its own LoRA settings, instead of a new one. Evaluation also refuses the
    dialogues that it was trained on."""
    lora: LoraSettings = field(default_factory=LoraSettings)
    """The adapter."""
    load_in_4bit: bool = False
    """Hold the model's linear layers in 4 bits (QLoRA: nf4, double quantisation, computed in the type of
    the run), a quarter of bfloat16's memory. Needs `pip install 'ghost-attention[qlora]'`. The adapter also
    fits the model in full precision. Not for sharded weights (FSDP, ZeRO stage 3)."""

    placement: Literal["system", "first_user", "mixed", "every_turn"] = "system"
    """Where the instruction stands. `system`: in the system message. `first_user`: in front of the first user
    message. `mixed`: one of the two, drawn for each sample from `seed` and its id. `every_turn`: on every turn,
    as in sampling (a control)."""
    supervise: Literal["last_turn", "all_turns", "context_only"] = "last_turn"
    """What carries loss. `last_turn`: the targets (the paper). `all_turns`: the dialogue's own replies too (a
    control, 27 points worse). `context_only`: the dialogue's own replies alone (a control; none kept)."""
    objective: Literal["targets", "preference", "distil"] = "targets"
    """What a dialogue with an instruction teaches. `targets`: its targets (the paper). `preference`: to prefer
    the target of a turn to its rejected reply (DPO); turns without both are left out and counted. `distil`: at
    each token of the targets, the probabilities of the model that reads the instruction on every turn (context
    distillation). `preference` and `distil` compare with the model without its adapter (but see
    `preference.reference`), in one more forward pass of each row."""
    preference: PreferenceSettings = field(default_factory=PreferenceSettings)
    """Settings of `objective: preference`."""
    distil: DistilSettings = field(default_factory=DistilSettings)
    """Settings of `objective: distil`."""
    plain_loss: Literal["targets", "kl"] = "targets"
    """What a dialogue without an instruction teaches. `targets`: its targets, like any other. `kl`: to answer
    as the model without any adapter does. The loss is then the Kullback-Leibler divergence from that model,
    on the targets and on the dialogue's own replies if they are the history, whatever `supervise` says. `kl`
    protects ordinary answers. It costs one more forward pass of rows with such a dialogue, and about twice
    the memory of their logits."""
    plain_kl_coef: float = 1.0
    """Weight of a token learned by `kl` against one of a target, above 0."""
    history: Literal["reference", "sampled", "mixed", "none", "both"] = "reference"
    """Replies in the history. `reference`: the dialogue's own (the paper). `sampled`: the targets, where there
    are any. `mixed`: one of the two, drawn for each sample from `seed` and its id. Measured: `reference` kept
    instructions 18 points more often than `sampled`, 8 more than `mixed` (`results/README.md`). `none`: no
    history; each target follows its instruction and its user message alone (single-turn fine-tuning, a
    control). `both`: each target twice, behind the dialogue's own replies and alone."""
    layout: Literal["comb", "expanded", "auto"] = "auto"
    """`comb`: all turns of a dialogue in one sequence; `expanded`: one row a turn; `auto`: `comb` if
    template and model allow it."""
    max_turns: int | None = None
    """Turns of each sample that are trained on, from the first; null takes all."""
    max_length: int = 2048
    """Most tokens of one prompt and its target (of a pair: both replies; of `distil`: the teacher's prompt
    too). A longer prompt loses its oldest exchanges, but not the first; a target that still does not fit is
    dropped and counted."""
    max_tokens_per_row: int = 8192
    """Most tokens of a row, without what the teacher of `distil` reads. A longer dialogue is cut into several
    rows, each with the trunk and some of the turns. A lower value takes less memory, and encodes such trunks
    more often."""
    max_lost_targets: float = 0.5
    """Largest share of the targets that may be dropped because they cannot be learned. If more would be, the
    run stops before it loads the model. 1 trains on whatever is left."""
    pack_rows: bool | Literal["auto"] = "auto"
    """Whether to pack several dialogues into a row, as many as `max_tokens_per_row` takes (best-fit by length).
    A micro-batch is then one row. `auto`: on CUDA, unless `per_device_train_batch_size` is above 1; a step has
    fewer rows, with about as many dialogues as without packing. `true`: a step has as many rows as without
    packing."""

    learning_rate: float = 2e-4
    """Peak learning rate, above 0."""
    lr_scheduler_type: str = "cosine"
    """Schedule of the learning rate, by transformers' name."""
    warmup_steps: float = 0.03
    """Steps of linear warm-up; below 1 it is the share of all steps."""
    num_train_epochs: float = 1.0
    """Passes over the samples; unused if `max_steps` is above 0."""
    max_steps: int = -1
    """Optimiser steps; -1 leaves it to `num_train_epochs`."""
    per_device_train_batch_size: int = 1
    """Dialogues (in the expanded layout: turns) of one micro-batch."""
    gradient_accumulation_steps: int = 8
    """Micro-batches of one optimiser step on each process."""
    optim: str = "adamw_torch"
    """Optimiser, by transformers' name."""
    weight_decay: float = 0.0
    """Weight decay, at least 0."""
    max_grad_norm: float = 1.0
    """Gradients are clipped to this norm; 0 turns it off."""
    seed: int = 0
    """Fixes the adapter's first weights, the order of samples, dropout, and the draws of `mixed` (`placement`,
    `history`)."""
    bf16: bool | Literal["auto"] = "auto"
    """Train in bfloat16; `auto`: on a CUDA device that has it. A CPU takes `true` if it has instructions for
    it (AVX512-BF16, AMX); a step then takes about half the time of float32."""
    gradient_checkpointing: bool = False
    """Trade time for memory: activations are computed again in the backward pass."""
    attn_implementation: Literal["sdpa", "flex_attention", "eager"] | None = None
    """Attention, by transformers' names. null: for packed rows FlexAttention on CUDA and SDPA elsewhere, for
    plain rows the model's default. `eager` takes no packed rows."""

    logging_steps: int = 5
    """Optimiser steps between two lines of the log."""
    save_steps: int = 100
    """Optimiser steps between two checkpoints; the last step is always saved."""
    save_total_limit: int = 2
    """Checkpoints that are kept, at least 1."""
    report_to: str | tuple[str, ...] = "tensorboard"
    """Where metrics go besides the log: `tensorboard` (in `output_dir/logs`), any other integration of
    transformers by its name, several of them, `all` that are installed, or `none`."""
    track: TrackConfig | None = None
    """Measure adherence turn by turn during training and store the best adapter; null does not. It does not
    change the trained adapter. Not for sharded weights (FSDP, ZeRO stage 3)."""
    disable_tqdm: bool = False
    """No progress bar."""
    launch: LaunchSettings = field(default_factory=LaunchSettings)
    """Processes that `gatt train` and `gatt run` start by themselves."""
    resume: bool = True
    """Continue from the last checkpoint in `output_dir`; false starts over and deletes the checkpoints."""

    def __post_init__(self) -> None:
        check_template_variables(self.chat_template_kwargs)
        problems = [
            *_out_of_range(
                self, "at least 1", "max_length", "max_tokens_per_row", "per_device_train_batch_size",
                "gradient_accumulation_steps", "logging_steps", "save_steps", "save_total_limit",
                "max_turns",
            ),
            *_out_of_range(self, "above 0", "learning_rate", "num_train_epochs", "plain_kl_coef"),
            *_out_of_range(
                self, "at least 0", "warmup_steps", "weight_decay", "max_grad_norm", "seed"
            ),
        ]  # fmt: skip
        # Short data are padded to a whole optimiser step.
        num_rows = self.per_device_train_batch_size * self.gradient_accumulation_steps
        checks = {
            "samples is empty: expected at least one file of `gatt synth`": not self.samples,
            f"seed is {self.seed}: expected below 2**32, as NumPy takes it": self.seed >= 2**32,
            f"per_device_train_batch_size times gradient_accumulation_steps is {num_rows}: expected at "
            "most 100,000": num_rows > 100_000,
            f"max_lost_targets is {self.max_lost_targets}: expected between 0 and 1": not (
                0 <= self.max_lost_targets <= 1
            ),
            f"max_steps is {self.max_steps}: expected at least 1, or -1 for none": (
                self.max_steps != -1 and self.max_steps < 1
            ),
            f"supervise is {self.supervise!r} with history {self.history!r}: this control "
            "trains on the dialogue's own replies, so use history 'reference'": (
                self.history != "reference" and self.supervise != "last_turn"
            ),
            f"supervise is {self.supervise!r} with objective {self.objective!r}: expected 'last_turn': the "
            "controls learn targets": self.objective != "targets" and self.supervise != "last_turn",
            f"per_device_train_batch_size is {self.per_device_train_batch_size} with "
            "pack_rows: expected 1; raise max_tokens_per_row for larger rows": (
                self.pack_rows is True and self.per_device_train_batch_size > 1
            ),
            "preference.reference is 'init_adapter' without an init_adapter: expected the adapter to start "
            "from, or 'base'": self.preference.reference == "init_adapter"
            and self.init_adapter is None,
            f"max_tokens_per_row is {self.max_tokens_per_row}: expected at least max_length "
            f"({self.max_length})": self.max_tokens_per_row < self.max_length,
        }
        problems += [problem for problem, is_there in checks.items() if is_there]
        _raise(problems)


_RANGES: Mapping[str, Callable[[float], bool]] = {
    "at least 1": lambda value: value >= 1,
    "at least 0": lambda value: value >= 0,
    "above 0": lambda value: 0 < value < math.inf,
}


def _out_of_range(settings: object, wanted: str, *names: str) -> list[str]:
    """Return a problem for each number of these names that is out of its range; null never is."""
    values = {name: getattr(settings, name) for name in names}
    return [
        f"{name} is {value}: expected {wanted}"
        for name, value in values.items()
        if value is not None and not _RANGES[wanted](value)
    ]


def _raise(problems: list[str]) -> None:
    if problems:
        raise ConfigError("; ".join(problems))
