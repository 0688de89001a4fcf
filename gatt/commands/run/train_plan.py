"""What `gatt train` would do, for `--plan`; rows are made in memory, and nothing is written."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from gatt.commands.run.plan import StagePlan
from gatt.config.load import config_dict
from gatt.runs.input_file import read_text
from gatt.runs.jsonl import count_lines
from gatt.train.config import TrainConfig
from gatt.train.run_folder import ADAPTER, FILE

_MOST_COUNTED = 100
"""Samples of which rows are made; the others are taken to be like them."""


def planned(config: TrainConfig, earlier: Mapping[str, StagePlan] | None = None) -> StagePlan:
    """Return the steps and tokens of a run; without samples, those that an earlier stage would leave.

    Raises:
        DataError: broken samples, with file and line, or none, and no earlier stage that makes them.
        ModelError: the tokenizer cannot be loaded.
        TrainingError: no sample has a token that carries loss.
    """
    before = (earlier or {}).get("synth")
    is_there = before is None or before.share_done == 1.0
    rows = config.per_device_train_batch_size * config.gradient_accumulation_steps
    if is_there:
        num, tokens, scored, longest, what = _of_samples(config)
    else:
        assert before is not None
        # A target behind every turn that the teacher reads, as long as its longest replies.
        num, scored = before.num_samples, before.target_tokens
        tokens, longest = before.read_tokens + scored, before.longest_tokens + scored // num
        what = f"{num} samples and their targets, which synth leaves: an upper estimate"
    passes = config.max_steps * rows / num if config.max_steps > 0 else config.num_train_epochs
    steps = (
        config.max_steps
        if config.max_steps > 0
        else math.ceil(num / rows) * config.num_train_epochs
    )
    share, done = _done(config)
    return StagePlan(
        summary=(
            what,
            f"about {steps:.0f} steps of {rows} rows, {passes:.3g} passes over the samples",
        ),
        files=tuple(
            config.output_dir / name
            for name in (ADAPTER, FILE, "config.yaml", "checkpoint-*", "rows", "logs")
        ),
        share_done=share,
        done=done,
        model=config.model,
        trained_tokens=round(tokens * passes),
        scored_tokens=round(scored * passes),
        longest_tokens=min(longest, config.max_tokens_per_row),
        lora=config_dict(config.lora),
    )


def _of_samples(config: TrainConfig) -> tuple[int, int, int, int, str]:
    """Return numbers of rows, tokens, tokens with loss, tokens of the longest row, and a line on them."""
    from gatt.models.load import load_tokenizer
    from gatt.models.template_variables import set_template_variables
    from gatt.train.data.rows import build_rows
    from gatt.train.data.samples import read_all_samples

    samples = list(islice(read_all_samples(config.samples), _MOST_COUNTED))
    tokenizer = load_tokenizer(config.model)
    set_template_variables(tokenizer, config.chat_template_kwargs)
    logger = logging.getLogger("gatt")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        _, report = build_rows(samples, tokenizer, config, why_not_packable=lambda: None)
    finally:
        logger.setLevel(level)
    num = sum(map(count_lines, config.samples))
    times = num / len(samples)
    what = (
        f"{num} samples -> about {report.num_rows * times:.0f} rows ({report.layout}), "
        f"{report.num_targets * times:.0f} targets, {report.num_supervised_tokens * times:.0f} of "
        f"{report.num_tokens * times:.0f} tokens carry loss"
    )
    return (
        round(report.num_rows * times), round(report.num_tokens * times),
        round(report.num_supervised_tokens * times), report.num_positions, what,
    )  # fmt: skip


def _done(config: TrainConfig) -> tuple[float, str]:
    """Return the share of the steps that is done, and what is there."""
    folder = config.output_dir
    try:
        status = json.loads(read_text(folder / FILE)).get("status")
    except (OSError, ValueError):
        status = None
    if config.resume and status == "finished" and (folder / ADAPTER).is_dir():
        return 1.0, "all of it"
    last = max(folder.glob("checkpoint-*"), key=_step, default=None)
    if not config.resume or last is None:
        return 0.0, "nothing yet"
    try:
        state = json.loads(read_text(last / "trainer_state.json"))
        share = state["global_step"] / state["max_steps"]
    except (OSError, ValueError, KeyError, ZeroDivisionError):
        return 0.0, "nothing yet"
    return min(share, 1.0), f"{state['global_step']} of {state['max_steps']} steps"


def _step(checkpoint: Path) -> int:
    number = checkpoint.name.partition("-")[2]
    return int(number) if number.isdigit() else -1
