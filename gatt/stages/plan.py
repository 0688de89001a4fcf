"""`--plan`: what a stage would do and how long it would take, without writing a file. No torch here.

A stage's command module names as `PLAN` the module whose `planned(config, earlier)` reads what is there.
What the model takes is measured in a trial of some seconds on this machine (`gatt.stages.trial`).
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gatt.errors import GattError
from gatt.stages.machine import Machine, choose_settings, num_weights

if TYPE_CHECKING:
    from gatt.stages.trial import Trial

MESSAGE_TOKENS: Final = 6
"""That a chat template puts around a message, about."""


@dataclass(frozen=True, kw_only=True)
class StagePlan:
    """What a stage would do, all of it, and how much of that is done."""

    summary: str
    """Samples or cases, turns, and where they come from."""
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
    num_devices: int = 1
    """Of this machine, among which the work is shared."""
    num_samples: int = 0
    """That it leaves to the next stage."""
    samples_file: Path | None = None
    """Where it leaves them."""
    target_tokens: float = 0
    """Of all replies in these, at most."""

    @property
    def tokens(self) -> str:
        """The numbers of tokens that are known, in words."""
        parts = (
            (self.read_tokens, "read"),
            (self.sampled_tokens, "sampled at most"),
            (self.trained_tokens, "trained"),
        )
        return ", ".join(f"{num:,.0f} {what}" for num, what in parts if num)


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


def show_plan(stages: Sequence[tuple[str, Any, str]]) -> int:
    """Say what each stage would do, and return the exit status of the command.

    `stages` are name, configuration and `PLAN` of each, in the order in which they run.

    Raises:
        GattError: data, a catalogue or a folder that the stage itself would refuse.
    """
    plans: dict[str, StagePlan] = {}
    tried: dict[str, tuple[Trial | None, float | None, str]] = {}
    costs: list[list[Any]] = []
    for number, (name, config, module) in enumerate(stages, start=1):
        plan = plans[name] = importlib.import_module(module).planned(config, plans)
        print_line(f"[{number}/{len(stages)}] {name} -> {config.output_dir}")
        print_line(f"      {plan.summary}; done: {plan.done}")
        print_line(f"      tokens: {plan.tokens or 'not known'}")
        *cost, line = _cost(plan, tried)
        costs.append(cost)
        print_line(f"      {line}")
    for model, (_, _, line) in tried.items():
        print_line(f"{model}: {line}")
    seconds, hours = (
        [value for value in some if value is not None] for some in zip(*costs, strict=True)
    )
    if not seconds and not hours:
        print_line("all: not known; nothing was written")
        return 0
    is_known = len(seconds) == len(hours) == len(stages)
    print_line(
        f"all: about {duration(sum(seconds))} on this machine, or {sum(hours):.2g} hours of an H100 by "
        f"docs/scaling.md{'' if is_known else ', without what is not known'}; nothing was written"
    )
    return 0


def _cost(
    plan: StagePlan, tried: dict[str, tuple[Trial | None, float | None, str]]
) -> tuple[float | None, float | None, str]:
    """Return seconds on this machine and GPU hours, None where not known, and a line on them."""
    if plan.model is None:
        return None, None, "time and memory: those of the servers"
    if not plan.tokens:
        what = "the stages and adapters that it needs are there"
        return None, None, f"time and memory: not known before {what}"
    if plan.model not in tried:
        tried[plan.model] = _tried(plan.model)
    trial, weights, _ = tried[plan.model]
    seconds = seconds_of(plan, trial) if trial else None
    hours = hours_of(plan, weights) if weights else None
    here = "not known" if seconds is None else f"about {duration(seconds)}"
    gpu = "" if hours is None else f"; or {hours:.2g} GPU hours"
    return seconds, hours, f"time on this machine: {here}{gpu}"


def _tried(model: str) -> tuple[Trial | None, float | None, str]:
    """Return the trial of a model, its number of weights if known, and a line on memory and trial."""
    from gatt.stages.trial import try_model

    weights = num_weights(model)
    memory = choose_settings(weights, Machine.here()).memory
    try:
        trial = try_model(model)
    except GattError as error:
        return None, weights, f"{memory}; {error}"
    return trial, trial.num_weights, f"{memory}; trial of {trial}"


def seconds_of(plan: StagePlan, trial: Trial) -> float:
    """Return the seconds that the rest of a stage takes, with the loading of its model."""
    left = 1 - plan.share_done
    work = (
        plan.read_tokens / trial.read_rate
        + plan.sampled_tokens / trial.sample_rate
        + plan.trained_tokens / trial.train_rate
    )
    return left and trial.load_seconds + left * work / plan.num_devices


def hours_of(plan: StagePlan, weights: float) -> float:
    """Return the GPU hours that the rest of a stage takes, at two operations for each weight and token.

    Training takes twice as many, forward and backward. Attention and the adapter are left out.
    """
    dense = (2 * plan.read_tokens + 4 * plan.trained_tokens) / DENSE_SHARE
    drawn = 2 * plan.sampled_tokens / DECODE_SHARE
    return (1 - plan.share_done) * weights * (dense + drawn) / (PEAK_TFLOPS * 1e12) / 3600


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
    """Return how many lines of a store a run continues from; 0 without a store."""
    from gatt.runs.input_file import count_lines

    return min(count_lines(path), most) if path.exists() else 0


PEAK_TFLOPS: Final = 989.0
"""Of the GPU that hours are given for: an H100 SXM in bfloat16, dense, by its maker."""
DENSE_SHARE: Final = 0.21
"""Share of it that training reached with 8 billion weights on an H200, taken for reading prompts too
(`results/gpu`)."""
DECODE_SHARE: Final = 0.035
"""Share of it that decoding reached with 1 billion weights on an H100, 64 dialogues at once (`results/gpu`)."""
DRAWS: Final = 2.0
"""Draws for each turn, rejected ones included; assumed."""
