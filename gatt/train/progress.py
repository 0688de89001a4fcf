"""What a run shows while it trains: a bar, and a line of the log for each step that is due."""

from __future__ import annotations

import logging
from typing import Any, Final

from tqdm.auto import tqdm  # type: ignore[import-untyped]
from transformers.trainer_callback import ProgressCallback, TrainerState
from transformers.training_args import TrainingArguments

from gatt.comb.objectives.table import TABLE

ADHERENCE: Final = "eval_adherence"
"""Begins the names of what is tracked: transformers' integrations show `eval_adherence/turn_20` as
`eval/adherence/turn_20`."""

FORMS: Final = {
    "loss": "loss {:.4f}",
    **{name: form for objective in TABLE.values() for name, form in objective.shown.items()},
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
        self, _: TrainingArguments, state: TrainerState, *__: Any, **___: Any
    ) -> None:
        """Open the bar; that of a resumed run begins where it left off."""
        self.current_step = state.global_step
        if state.is_world_process_zero:
            self.training_bar = tqdm(
                total=state.max_steps, initial=state.global_step, disable=not self.has_bar,
                dynamic_ncols=True,
            )  # fmt: skip

    def on_log(
        self, _: TrainingArguments, state: TrainerState, *__: Any, logs: Any = None, **___: Any
    ) -> None:
        """Write one line; the summary at the end of training is left to the caller."""
        logs = logs or {}
        parts = [
            form.format(logs[key]) for key, form in FORMS.items() if key in logs and "loss" in logs
        ]
        if f"{ADHERENCE}/seconds" in logs:
            start = f"{ADHERENCE}/turn_"
            rates = {k.removeprefix(start): rate for k, rate in logs.items() if k.startswith(start)}
            shown = [f"turn {turn}: {rate:.0%}" for turn, rate in rates.items()] or ["undecided"]
            parts = ["adherence", *shown, f"({logs[f'{ADHERENCE}/seconds']:.0f} s)"]
        if not state.is_world_process_zero or not parts:
            return
        line = "  ".join([f"step {state.global_step}/{state.max_steps}", *parts])
        if self.has_bar:
            self.training_bar.write(line)
        else:
            log.info("%s", line)
