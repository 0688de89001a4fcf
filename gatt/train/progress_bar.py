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

FORMS: Final = {
    "loss": "loss {:.4f}",
    "mean_token_accuracy": "accuracy {:.3f}",
    "plain_kl": "plain_kl {:.3f}",
    "learning_rate": "lr {:.2e}",
    "tokens_per_second": "{:,.0f} tokens/s",
}
"""What a line says of a step."""

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
        parts = line_parts(logs or {})
        if not state.is_world_process_zero or not parts:
            return
        line = "  ".join([f"step {state.global_step}/{state.max_steps}", *parts])
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


def line_parts(logs: Mapping[str, float]) -> list[str]:
    """Return what a line says of a step or of a measurement; nothing of anything else."""
    if f"{ADHERENCE}/seconds" in logs:
        start = f"{ADHERENCE}/turn_"
        rates = {k.removeprefix(start): rate for k, rate in logs.items() if k.startswith(start)}
        shown = [f"turn {turn}: {rate:.0%}" for turn, rate in rates.items()] or ["undecided"]
        return ["adherence", *shown, f"({logs[f'{ADHERENCE}/seconds']:.0f} s)"]
    return [form.format(logs[key]) for key, form in FORMS.items() if key in logs and "loss" in logs]
