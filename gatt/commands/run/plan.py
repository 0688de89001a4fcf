"""`--plan`: what a stage would do and how long it would take, without writing a file. No torch here.

A stage's command module names as `PLAN` the module whose `planned(config, earlier)` reads what is there.
What the model takes is measured in a trial of some seconds on this machine (`gatt.commands.run.trial`).
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gatt.errors import GattError

if TYPE_CHECKING:
    from gatt.commands.run.trial import Trial

LORA_BYTES: Final = 16
"""Of a weight of the adapter in training: itself, its gradient and Adam's two means, 32 bits each."""
MESSAGE_TOKENS: Final = 6
"""That a chat template puts around a message, about."""


@dataclass(frozen=True, kw_only=True)
class StagePlan:
    """What a stage would do, all of it, and how much of that is done."""

    summary: str
    """Samples or cases, turns, and where they come from."""
    files: tuple[str, ...]
    """That it writes into its folder."""
    done: str = "nothing"
    share_done: float = 0.0
    """Of the work, from 0 to 1."""
    model: str | None
    """That this machine runs; None for one on servers."""
    read_tokens: float = 0
    """Prompt tokens, each shared prefix once."""
    sampled_tokens: float = 0
    """An upper estimate: every reply as long as `max_new_tokens`."""
    trained_tokens: float = 0
    """Of all passes over the rows."""
    scored_tokens: float = 0
    """Of these the ones that carry loss."""
    longest_tokens: float = 0
    """Of one prompt with its reply, or of one row."""
    num_samples: int = 0
    """That it leaves to the next stage."""
    target_tokens: float = 0
    """Of all replies in these, at most."""


def add_plan_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--plan`."""
    parser.add_argument(
        "--plan",
        action="store_true",
        help="say what would be done, how long it takes and what it needs; write nothing",
    )


def print_line(line: str) -> None:
    """Write a line to standard output at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def show_plan(
    stages: Sequence[tuple[str, Any, str]], say: Callable[[str], object] = print_line
) -> int:
    """Say what each stage would do, and return the exit status of the command.

    Args:
        stages: name, configuration and `PLAN` of each, in the order in which they run.
        say: takes one line for the reader.

    Raises:
        GattError: data, a catalogue or a folder that the stage itself would refuse.
    """
    plans: dict[str, StagePlan] = {}
    tried: dict[str, tuple[Trial | None, ModelShape | None, str]] = {}
    all_seconds = all_hours = 0.0
    is_known = True
    for number, (name, config, module) in enumerate(stages, start=1):
        plan = plans[name] = importlib.import_module(module).planned(config, plans)
        say(f"[{number}/{len(stages)}] {name} -> {config.output_dir}: {', '.join(plan.files)}")
        say(f"      {plan.summary}; done: {plan.done}")
        parts = (
            (plan.read_tokens, "read"),
            (plan.sampled_tokens, "sampled at most"),
            (plan.trained_tokens, "trained"),
        )
        tokens = ", ".join(f"{num:,.0f} {what}" for num, what in parts if num)
        say(f"      tokens: {tokens or 'not known'}")
        if plan.model is None:
            say("      time and memory: those of the servers")
            is_known = False
            continue
        if not tokens:
            say(
                "      time and memory: not known before the stages and adapters that it needs are there"
            )
            is_known = False
            continue
        if plan.model not in tried:
            tried[plan.model] = _tried(plan.model)
        trial, shape, _ = tried[plan.model]
        hours = hours_of(plan, shape) if shape else 0.0
        all_hours += hours
        if trial is None:
            is_known = False
            told = f"; {hours:.2g} GPU hours" if shape else ""
            say(f"      time here and memory: not known{told}")
            continue
        seconds = seconds_of(plan, trial)
        all_seconds += seconds
        say(
            f"      about {duration(seconds)} on this machine, {memory_of(plan, trial) / 1e9:.1f} GB beside "
            f"the libraries (longest row or prompt: {plan.longest_tokens:.0f} tokens); or {hours:.2g} GPU hours"
        )
    for model, (_, _, told) in tried.items():
        say(f"trial of {model}: {told}")
    if not (is_known or all_seconds or all_hours):
        say("all: not known; nothing was written")
        return 0
    say(
        f"all: about {duration(all_seconds)} on this machine, or {all_hours:.2g} hours of an H100 by "
        f"docs/scaling.md{'' if is_known else ', without what is not known'}; nothing was written"
    )
    return 0


def _tried(model: str) -> tuple[Trial | None, ModelShape | None, str]:
    """Return what was measured with a model and its sizes, as far as known, and a line on the trial."""
    from gatt.commands.run.trial import shape_of, try_model

    try:
        trial = try_model(model)
    except GattError as error:
        with contextlib.suppress(GattError):
            return None, shape_of(model), str(error)
        return None, None, str(error)
    return trial, trial.shape, str(trial)


def seconds_of(plan: StagePlan, trial: Trial) -> float:
    """Return the time of what is left of a stage, the loading of its model included."""
    left = 1 - plan.share_done
    work = (
        plan.read_tokens / trial.read_rate
        + plan.sampled_tokens / trial.sample_rate
        + plan.trained_tokens / trial.train_rate
    )
    return left and trial.load_seconds + left * work


def memory_of(plan: StagePlan, trial: Trial) -> float:
    """Return the bytes of the weights, the longest row or prompt, and the adapter's training."""
    each = trial.train_bytes if plan.trained_tokens else trial.cache_bytes
    adapter = trial.shape.adapter * LORA_BYTES if plan.trained_tokens else 0
    return trial.weight_bytes + plan.longest_tokens * each + adapter


def hours_of(plan: StagePlan, shape: ModelShape) -> float:
    """Return the hours of one GPU for what is left of a stage, by the method of docs/scaling.md."""

    def work(tokens: float, scored: float) -> Work:
        # A token sees half of the longest prompt on average.
        pairs = round(tokens * plan.longest_tokens / 2)
        return Work(num_tokens=round(tokens), num_pairs=pairs, num_scored=round(scored))

    dense = work(plan.read_tokens, 0).forward_flops(shape)
    dense += work(plan.trained_tokens, plan.scored_tokens).flops(shape)
    drawn = work(plan.sampled_tokens, plan.sampled_tokens).forward_flops(shape)
    whole = gpu_hours(dense / 1e12, DENSE_SHARE) + gpu_hours(drawn / 1e12, DECODE_SHARE)
    return whole * (1 - plan.share_done)


def duration(seconds: float) -> str:
    """Return a time as people say it."""
    for size, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 1.5 * size:
            return f"{float(f'{seconds / size:.2g}'):g} {name}"
    return f"{seconds:.0f} seconds"


def count_tokens(model: str | None, texts: Sequence[str]) -> float:
    """Return the tokens of some messages by a model's tokenizer; for a served one, four characters make one.

    Raises:
        ModelError: the tokenizer cannot be loaded.
    """
    if not texts:
        return 0.0
    if model is None:
        return sum(map(len, texts)) / 4 + MESSAGE_TOKENS * len(texts)
    from gatt.models.load import load_tokenizer

    ids: Mapping[str, Any] = load_tokenizer(model)(list(texts))
    return float(sum(map(len, ids["input_ids"])) + MESSAGE_TOKENS * len(texts))


def num_there(path: Path, most: int) -> int:
    """Return the lines of a store that a run goes on from, 0 without one."""
    from gatt.runs.input_file import count_lines

    return min(count_lines(path), most) if path.exists() else 0


PEAK_TFLOPS: Final = 989.0
"""Of the GPU that hours are given for: an H100 SXM in bfloat16, dense, by its maker."""
DENSE_SHARE: Final = 0.35
"""Share of it reached in training and in reading prompts; assumed, not measured."""
DECODE_SHARE: Final = 0.05
"""Share of it reached in sampling, in large batches; assumed, not measured."""
DRAWS: Final = 2.0
"""Draws for each turn, rejected ones included; assumed."""


@dataclass(frozen=True, kw_only=True)
class ModelShape:
    """Sizes of a model with a LoRA adapter."""

    linear: int
    """Weights of all linear layers but the LM head."""
    adapter: int
    """Weights of the adapter."""
    head: int
    """Weights of the LM head."""
    attention: int
    """Layers times query heads times head size."""

    @classmethod
    def of(cls, model: Any) -> ModelShape:
        """Return the shape of a PEFT model around a causal LM of transformers."""
        import torch

        config = model.config.get_text_config()
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        head = model.get_output_embeddings()
        found = {True: 0, False: 0}
        for name, module in model.named_modules():
            if isinstance(module, torch.nn.Linear) and module is not head:
                found["lora_" in name] += module.in_features * module.out_features
        return cls(
            linear=found[False],
            adapter=found[True],
            head=head.weight.numel(),
            attention=config.num_hidden_layers * config.num_attention_heads * size,
        )


@dataclass(frozen=True, kw_only=True)
class Work:
    """What a layout puts through the model."""

    num_tokens: int
    num_pairs: int
    """Pairs of a query and a key that it sees."""
    num_scored: int
    """Positions that the LM head scores."""

    def flops(self, shape: ModelShape) -> int:
        """Return the operations of forward and backward pass."""
        return (
            self.num_tokens * (4 * shape.linear + 6 * shape.adapter)
            + self.num_pairs * 12 * shape.attention
            + self.num_scored * 4 * shape.head
        )

    def forward_flops(self, shape: ModelShape) -> int:
        """Return the operations of the forward pass alone, as in sampling; the adapter is not merged."""
        return (
            self.num_tokens * 2 * (shape.linear + shape.adapter)
            + self.num_pairs * 4 * shape.attention
            + self.num_scored * 2 * shape.head
        )


def gpu_hours(tflop: float, share: float) -> float:
    """Return the hours of one GPU for so many operations, where it reaches that share of its peak."""
    return tflop / (PEAK_TFLOPS * share) / 3600
