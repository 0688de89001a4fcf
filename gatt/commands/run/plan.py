"""`--plan`: what a stage would do and how long it would take, without writing a file. No torch here.

A stage's command module has `plan(config, earlier) -> StagePlan`, which reads what is there. What the
model takes is measured in a trial of some seconds on this machine (`gatt.commands.run.trial`).
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from gatt.errors import GattError

if TYPE_CHECKING:
    from gatt.commands.run.operations import ModelShape
    from gatt.commands.run.trial import Trial

SAMPLE_BYTES: Final = 785
"""Of `samples.jsonl` for each target, measured (docs/scaling.md)."""
_LORA_BYTES: Final = 16
"""Of a weight of the adapter in training: itself, its gradient and Adam's two means, 32 bits each."""


@dataclass(frozen=True, kw_only=True)
class StagePlan:
    """What a stage would do, all of it, and how much of that is done."""

    summary: tuple[str, ...]
    """Lines for the reader: samples, turns, what they are made of."""
    files: tuple[Path, ...]
    """That it writes."""
    share_done: float = 0.0
    """Of the work, from 0 to 1."""
    done: str = "nothing yet"
    model: str | None = None
    """That this machine runs; None for one on servers."""
    read_tokens: int = 0
    """Prompt tokens, each shared prefix once."""
    sampled_tokens: int = 0
    """An upper estimate: every reply as long as `max_new_tokens`, every turn with `DRAWS` draws."""
    trained_tokens: int = 0
    """Of all passes over the rows."""
    scored_tokens: int = 0
    """Of these the ones that carry loss."""
    longest_tokens: int = 0
    """Of one prompt with its reply, or of one row."""
    lora: Mapping[str, Any] | None = None
    """Settings of the adapter, where one is trained."""
    num_samples: int = 0
    """That it leaves to the next stage."""
    target_tokens: int = 0
    """Of all replies in these, at most."""


Planner = Callable[[Any, Mapping[str, StagePlan]], StagePlan]


def planner_of(module: ModuleType) -> Planner:
    """Return what plans a stage: `planned` of the module that its command names as `PLAN`."""
    found: Planner = importlib.import_module(module.PLAN).planned
    return found


def print_plan(name: str, module_name: str, config: Any) -> int:
    """Print what one stage would do, and return the exit status of its command."""
    show_plan([(name, config, planner_of(sys.modules[module_name]))], print_line)
    return 0


def print_line(line: str) -> None:
    """Write a line to standard output at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def add_plan_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--plan`."""
    parser.add_argument(
        "--plan",
        action="store_true",
        help="say what would be done, how long it takes and what it needs; write nothing",
    )


def show_plan(
    stages: Sequence[tuple[str, Any, Planner]], say: Callable[[str], object]
) -> dict[str, StagePlan]:
    """Say what each stage would do, and return it.

    Args:
        stages: name, configuration and `plan` of each, in the order in which they run.
        say: takes one line for the reader.

    Raises:
        GattError: data, a catalogue or a folder that the stage itself would refuse.
    """
    plans: dict[str, StagePlan] = {}
    trials: dict[str, Trial | str] = {}
    seconds: list[float | None] = []
    hours: list[float | None] = []
    for number, (name, config, planner) in enumerate(stages, start=1):
        plan = plans[name] = planner(config, plans)
        say(f"[{number}/{len(stages)}] {name} -> {getattr(config, 'output_dir', '')}")
        for line in (*plan.summary, f"done: {plan.done}", *_tokens(plan)):
            say(f"      {line}")
        say(f"      files: {', '.join(path.name for path in plan.files)}")
        if plan.model is None:
            say("      time: that of the servers")
            seconds.append(None)
            hours.append(None)
            continue
        if plan.model not in trials:
            trials[plan.model] = _trial(plan.model)
        trial = trials[plan.model]
        seconds.append(_say_time(plan, trial, say))
        hours.append(_say_gpu(plan, say))
    _say_sums(seconds, hours, say)
    return plans


def _tokens(plan: StagePlan) -> list[str]:
    parts = [
        f"{number:,} {what}"
        for number, what in (
            (plan.read_tokens, "read"),
            (plan.sampled_tokens, "sampled at most"),
            (plan.trained_tokens, "trained"),
        )
        if number
    ]
    return [f"tokens: {', '.join(parts)}"] if parts else []


def _trial(model: str) -> Trial | str:
    """Return what was measured with a model, or why nothing was."""
    from gatt.commands.run.trial import try_model

    try:
        return try_model(model)
    except GattError as error:
        return str(error)


def _say_time(plan: StagePlan, trial: Trial | str, say: Callable[[str], object]) -> float | None:
    left = 1 - plan.share_done
    if not left:
        say("      time: none, all of it is there")
        return 0.0
    if isinstance(trial, str):
        say(f"      time: no trial: {trial}")
        return None
    seconds = trial.load_seconds + left * (
        plan.read_tokens / trial.read_rate
        + plan.sampled_tokens / trial.sample_rate
        + plan.trained_tokens / trial.train_rate
    )
    # Fixed costs aside, a machine that does other work as well can take several times as long.
    say(
        f"      time: about {duration(seconds)} on this machine, by a trial of {trial.seconds:.0f} s ({trial})"
    )
    memory = trial.weight_bytes + plan.longest_tokens * (
        trial.train_bytes if plan.trained_tokens else trial.cache_bytes
    )
    if plan.trained_tokens:
        memory += trial.shape.adapter * _LORA_BYTES
    say(
        f"      memory: {memory / 1e9:.1f} GB for weights and the longest row or prompt of "
        f"{plan.longest_tokens:,} tokens, beside 1 GB of libraries"
    )
    return seconds


def _say_gpu(plan: StagePlan, say: Callable[[str], object]) -> float | None:
    from gatt.commands.run.trial import shape_of

    assert plan.model is not None
    try:
        hours = hours_of(plan, shape_of(plan.model, plan.lora))
    except GattError as error:
        say(f"      GPU hours: not known: {error}")
        return None
    say(f"      GPU hours: {hours:.2g} of an H100, computed and not measured (docs/scaling.md)")
    return hours


def hours_of(plan: StagePlan, shape: ModelShape) -> float:
    """Return the hours of one GPU for what is left of a stage, by the method of docs/scaling.md."""
    from gatt.commands.run.operations import DECODE_SHARE, DENSE_SHARE, Work, gpu_hours

    def work(num_tokens: int, num_scored: int) -> Work:
        # A token sees half of the longest prompt on average.
        pairs = num_tokens * plan.longest_tokens // 2
        return Work(num_tokens=num_tokens, num_pairs=pairs, num_scored=num_scored)

    read = work(plan.read_tokens, 0).forward_flops(shape) / 1e12
    sampled = work(plan.sampled_tokens, plan.sampled_tokens).forward_flops(shape) / 1e12
    trained = work(plan.trained_tokens, plan.scored_tokens).flops(shape) / 1e12
    whole = gpu_hours(read + trained, DENSE_SHARE) + gpu_hours(sampled, DECODE_SHARE)
    return whole * (1 - plan.share_done)


def _say_sums(
    seconds: Sequence[float | None], hours: Sequence[float | None], say: Callable[[str], object]
) -> None:
    known = [value for value in seconds if value is not None]
    more = "" if len(known) == len(seconds) else ", and what is not known"
    say(
        f"all: about {duration(sum(known))}{more} on this machine, or {sum(h or 0 for h in hours):.2g} GPU hours; "
        "nothing was written"
    )


def duration(seconds: float) -> str:
    """Return a time as people say it."""
    for size, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 1.5 * size:
            return (
                f"{seconds / size:.2g} {name}"
                if seconds < 10 * size
                else f"{seconds / size:.0f} {name}"
            )
    return f"{seconds:.0f} seconds"


def mean_tokens(tokenizer: Any, texts: Sequence[str]) -> float:
    """Return the mean number of tokens of some texts, 0 for none."""
    return sum(len(tokenizer(t)["input_ids"]) for t in texts) / len(texts) if texts else 0.0
