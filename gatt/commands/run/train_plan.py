"""What `gatt train` would do, for `--plan`; rows are made in memory, and nothing is written."""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Final

from gatt.commands.launch import planned_launch
from gatt.data.sample import read_all_samples
from gatt.errors import StaleError
from gatt.models.load import load_tokenizer
from gatt.runs.input_file import count_lines, read_json
from gatt.stages.plan import StagePlan
from gatt.train.config import TrainConfig
from gatt.train.data.packing import is_packed
from gatt.train.data.rows import build_rows
from gatt.train.run_folder import FILE, refuse_stale

_MOST_COUNTED: Final = 100
"""Samples of which rows are made; the others are taken to be like them."""


def planned(config: TrainConfig, earlier: Mapping[str, StagePlan]) -> StagePlan:
    """Return the steps and tokens of a run; of samples that `synth` has yet to make, at most how many.

    Raises:
        GattError: what `prepare` raises before it loads the model.
    """
    to_come = (
        plan
        for plan in earlier.values()
        if plan.samples_file in config.samples and plan.share_done < 1
    )
    launch = planned_launch(config)
    config, num_processes = (launch.config, launch.num_processes) if launch else (config, 1)
    a_step = config.per_device_train_batch_size * config.gradient_accumulation_steps * num_processes
    unit = "rows"
    if (synth := next(to_come, None)) is not None:
        num, tokens = float(synth.num_samples), synth.read_tokens + synth.target_tokens
        what = f"{num:.0f} samples to come, at most"
        others = (path for path in config.samples if path != synth.samples_file)
        if kept := tuple(path for path in others if path.is_file()):
            # A step that is packed by `auto` is counted in dialogues, as those to come are.
            alone = replace(config, samples=kept, pack_rows=config.pack_rows is True)
            num_alone, more_tokens, what_alone, _ = _of_samples(alone, num_processes)
            num, tokens, what = num + num_alone, tokens + more_tokens, f"{what}; {what_alone}"
        if config.pack_rows == "auto" and is_packed(config):
            unit = "dialogues, packed"
    else:
        num, tokens, what, a_step = _of_samples(config, num_processes)
    steps = math.ceil(num / a_step) * config.num_train_epochs
    steps = config.max_steps if config.max_steps > 0 else math.ceil(steps)
    passes = steps * a_step / num
    done = 0 if synth is not None else _step_done(config)
    return StagePlan(
        summary=f"{what}, {steps} steps of {a_step} {unit}{f', on {launch}' if launch else ''}",
        done=f"{min(done, steps)} steps",
        share_done=min(done / steps, 1.0),
        model=config.model,
        trained_tokens=tokens * passes,
        num_devices=launch.num_devices if launch else 1,
    )


def _of_samples(config: TrainConfig, num_processes: int) -> tuple[float, float, str, int]:
    """Return numbers of rows and tokens, a line on them, and the rows of a step on all processes."""
    samples = list(islice(read_all_samples(config.samples), _MOST_COUNTED))
    tokenizer = load_tokenizer(config.model, config.chat_template_kwargs)
    logging.disable(logging.WARNING)
    try:
        _, report = build_rows(
            samples, tokenizer, config, why_not_packable=lambda: None, world_size=num_processes
        )
    finally:
        logging.disable(logging.NOTSET)
    times = sum(map(count_lines, config.samples)) / len(samples)
    rows, targets = report.num_rows * times, report.num_targets * times
    layout = (
        f"{report.layout}, packed"
        if report.layout == "comb" and is_packed(config)
        else report.layout
    )
    what = f"{len(samples) * times:.0f} samples, {rows:.0f} rows ({layout}), {targets:.0f} targets"
    a_step = config.per_device_train_batch_size * report.rows_a_step * num_processes
    return rows, report.num_tokens * times, what, a_step


def _step_done(config: TrainConfig) -> float:
    """Return the last step that a run would go on from, 0 of other samples; infinite where it is finished."""
    if not config.resume:
        return 0
    try:
        refuse_stale(config)
    except StaleError:
        return 0
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        if read_json(config.output_dir / FILE)["status"] == "finished":
            return math.inf
    numbers = [path.name.partition("-")[2] for path in config.output_dir.glob("checkpoint-*")]
    return max((int(number) for number in numbers if number.isdigit()), default=0)
