"""The schedule of the learning rate: what it needs, and that it leaves something to train."""

from __future__ import annotations

import logging

import torch
from transformers import TrainingArguments, get_scheduler

from gatt.errors import ConfigError

log = logging.getLogger(__name__)


def refuse_bare_schedule(args: TrainingArguments) -> None:
    """Refuse a schedule that needs more than its name.

    Args:
        args: `TrainingArguments` of a run.

    Raises:
        ConfigError: names it.
    """
    nothing = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=args.learning_rate)
    try:
        get_scheduler(
            args.lr_scheduler_type, nothing, num_warmup_steps=1, num_training_steps=10,
            scheduler_specific_kwargs=args.lr_scheduler_kwargs,
        )  # fmt: skip
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"lr_scheduler_type is {str(args.lr_scheduler_type.value)!r}, which needs settings of its own "
            f"({' '.join(str(error).split())}): expected one that does not, such as 'cosine', 'linear' or "
            "'constant_with_warmup'"
        ) from None


def leave_steps_to_train(args: TrainingArguments, num_steps: int) -> None:
    """Have a share of warm-up leave at least one step; say so where a number of steps does not.

    Transformers rounds the share up, and the first step of a warm-up has a learning
    rate of zero: a run of one step would change nothing.

    Args:
        args: `TrainingArguments` of a run; its `warmup_steps` may change.
        num_steps: optimiser steps of the run.
    """
    if args.get_warmup_steps(num_steps) < num_steps:
        return
    if args.warmup_steps < 1:
        args.warmup_steps = num_steps - 1
    else:
        log.warning(
            "warmup_steps is %g, but the run has %d steps: the learning rate never reaches %g",
            args.warmup_steps, num_steps, args.learning_rate,
        )  # fmt: skip
