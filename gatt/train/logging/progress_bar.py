"""What training shows while it runs: a bar, and one short line every few steps."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from transformers.trainer_callback import ProgressCallback, TrainerControl, TrainerState
from transformers.training_args import TrainingArguments

ADHERENCE: Final = "eval_adherence"
"""Begins the names of what is tracked: transformers' integrations show `eval_adherence/turn_20` as
`eval/adherence/turn_20`."""

log = logging.getLogger(__name__)


class CompactProgress(ProgressCallback):  # type: ignore[misc]
    """transformers' progress bar, with lines that a person can read along."""

    def __init__(self, has_bar: bool = True) -> None:
        super().__init__()
        self.has_bar = has_bar

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Open the bar."""
        if self.has_bar:
            super().on_train_begin(args, state, control, **kwargs)
            if self.training_bar is not None:
                # A resumed run begins where it left off.
                self.training_bar.update(state.global_step)
        self.current_step = state.global_step

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Move the bar."""
        if self.training_bar is not None:
            super().on_step_end(args, state, control, **kwargs)

    def on_log(
        self,
        args: TrainingArguments,  # noqa: ARG002 - the library's signature
        state: TrainerState,
        control: TrainerControl,  # noqa: ARG002
        logs: Mapping[str, float] | None = None,
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Write one line; the summary at the end of training is left to the caller."""
        if not state.is_world_process_zero or not logs:
            return
        if "loss" in logs:
            line = progress_line(state.global_step, state.max_steps, logs)
        elif any(key.startswith(ADHERENCE) for key in logs):
            line = adherence_line(state.global_step, state.max_steps, logs)
        else:
            return
        if self.training_bar is not None:
            self.training_bar.write(line)
        else:
            log.info("%s", line)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Close the bar."""
        if self.training_bar is not None:
            super().on_train_end(args, state, control, **kwargs)


def progress_line(step: int, max_steps: int, logs: Mapping[str, float]) -> str:
    """Return one line of the log: step, loss, accuracy, KL divergence, learning rate and speed."""
    parts = [f"step {step}/{max_steps}", f"loss {logs['loss']:.4f}"]
    if "mean_token_accuracy" in logs:
        parts.append(f"accuracy {logs['mean_token_accuracy']:.3f}")
    if "plain_kl" in logs:
        parts.append(f"plain_kl {logs['plain_kl']:.3f}")
    if "learning_rate" in logs:
        parts.append(f"lr {logs['learning_rate']:.2e}")
    if "tokens_per_second" in logs:
        parts.append(f"{logs['tokens_per_second']:,.0f} tokens/s")
    return "  ".join(parts)


def adherence_line(step: int, max_steps: int, logs: Mapping[str, float]) -> str:
    """Return one line of what was tracked: the rate at each turn, and what it took."""
    start = f"{ADHERENCE}/turn_"
    rates = {key.removeprefix(start): rate for key, rate in logs.items() if key.startswith(start)}
    parts = [f"step {step}/{max_steps}", "adherence"]
    parts += [f"turn {turn}: {rate:.0%}" for turn, rate in rates.items()] or ["undecided"]
    return "  ".join([*parts, f"({logs[f'{ADHERENCE}/seconds']:.0f} s)"])
