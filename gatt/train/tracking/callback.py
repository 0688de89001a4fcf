"""Adherence turn by turn while a model trains, and the best adapter so far.

The model is asked as it is, adapter in place: no second copy of it is loaded. (In float32 on a CPU
the engine lays the weights out once more while it samples, as always; see
`gatt.generation.local.cpu_linear`.) Training goes on as if nothing had been measured, to the bit.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from transformers.trainer_callback import TrainerCallback, TrainerState
from transformers.training_args import TrainingArguments

from gatt.errors import ConfigError, StoreError
from gatt.generation.local.engine import TransformersEngine
from gatt.models.isolation import undisturbed
from gatt.models.load import LoadedModel
from gatt.runs.input_file import read_json
from gatt.train.adapter_card import TRACKED
from gatt.train.progress_bar import ADHERENCE
from gatt.train.runtime import current_runtime, from_everyone, from_main
from gatt.train.tracking.config import TrackConfig
from gatt.train.tracking.evaluators import Counts, TrainEvaluator
from gatt.train.trainer import GattTrainer

ADAPTER: Final = "default"
"""PEFT's name of the adapter in training."""
_MEASURED_ON: Final = ("suite", "history", "num_cases")
"""Of a record: where two differ in one of these, or in their turns, their rates say nothing of each other."""

log = logging.getLogger(__name__)


class AdherenceTracker(TrainerCallback):  # type: ignore[misc]
    """Measures every so many steps and after the last one; each process its share of the cases."""

    def __init__(
        self,
        trainer: GattTrainer,
        evaluator: TrainEvaluator,
        track: TrackConfig,
        best: Path,
        keep: Callable[[Mapping[str, Any]], None],
    ) -> None:
        """Set up the callback; `trainer.add_callback` takes it.

        Args:
            trainer: whose model is measured, and which logs.
            evaluator: has the cases.
            track: how often, and whether the best is kept.
            best: folder of the best adapter.
            keep: saves the adapter of this moment there, with what was measured of it; called on
                every process.

        Raises:
            ConfigError: a model whose weights no process holds whole.
        """
        if trainer.spreads_weights:
            raise ConfigError(
                "track: the weights are spread over the processes (FSDP or ZeRO stage 3): expected "
                "DDP, ZeRO stage 2 or one process; leave track out and evaluate checkpoints with "
                "`gatt eval`"
            )
        self._trainer = trainer
        self._evaluator = evaluator
        self._track = track
        self._best_folder = best
        self._keep = keep
        self._best: tuple[float, float] | None = None
        self._earlier: Mapping[str, Any] | None = None

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        """Take up the best of an interrupted run."""
        # Which turns are measured shows with the first measurement.
        self._earlier = from_main(lambda: read_tracked(self._best_folder))
        self._best = None

    def on_step_end(self, _: TrainingArguments, state: TrainerState, *__: Any, **___: Any) -> None:
        """Measure if it is time."""
        if state.global_step % self._track.every_steps == 0 or state.global_step >= state.max_steps:
            self.measure(state.global_step)

    def measure(self, step: int) -> None:
        """Measure the model as it is, log it, and keep the adapter if none was better.

        Raises:
            GattError: the engine gave no reply, or another process failed.
        """
        began = time.monotonic()
        runtime = current_runtime()
        counts: dict[int, Counts] = {}
        for part in from_everyone(
            lambda: self._counts(runtime.process_index, runtime.num_processes)
        ):
            for turn, found in part.items():
                counts[turn] = counts.get(turn, Counts()) + found
        seconds = time.monotonic() - began
        rates = {turn: counts[turn].rate for turn in sorted(counts)}
        values = {f"{ADHERENCE}/turn_{t}": rate for t, rate in rates.items() if rate is not None}
        num_undecided = sum(c.num_undecided for c in counts.values())
        self._trainer.log_beside(
            {
                **values,
                f"{ADHERENCE}/num_undecided": num_undecided,
                f"{ADHERENCE}/seconds": seconds,
            },
            seconds,
        )
        tracked: dict[str, Any] = {
            "step": step,
            "suite": self._track.suite,
            "history": self._track.history,
            "num_cases": self._evaluator.num_cases,
            "turn": max(rates),
            "adherence": {str(turn): rate for turn, rate in rates.items()},
        }
        self._take_up(tracked)
        rank = _rank(tracked["adherence"])
        if self._track.keep_best and rank and (self._best is None or rank > self._best):
            self._best = rank
            self._keep(tracked)

    def _take_up(self, tracked: Mapping[str, Any]) -> None:
        """Hold the best of an interrupted run against this measurement, if both measured the same."""
        earlier, self._earlier = self._earlier, None
        if earlier is None:
            return
        other = [name for name in _MEASURED_ON if earlier.get(name) != tracked[name]]
        if list(earlier["adherence"]) != list(tracked["adherence"]):
            other.append("turns")
        if not other:
            self._best = _rank(earlier["adherence"])
        elif self._track.keep_best:
            log.warning(
                "%s: the best adapter so far (step %d) was measured under other settings (%s): it is "
                "not held against those to come, and goes with the first of them",
                self._best_folder, earlier["step"], ", ".join(other),
            )  # fmt: skip

    def _counts(self, part: int, num_parts: int) -> Mapping[int, Counts]:
        model, tokenizer = self._trainer.model, self._trainer.processing_class
        with undisturbed(model):
            # Made anew: what an engine keeps of a model would be in training's way.
            engine = TransformersEngine(LoadedModel(model, tokenizer, "the model in training"))
            return self._evaluator.measure(engine, ADAPTER, part=part, num_parts=num_parts)


def read_tracked(folder: Path) -> dict[str, Any] | None:
    """Return what was measured of the best adapter; None where there is none.

    Raises:
        StoreError: a file that is not of that form.
    """
    path = folder / TRACKED
    if not path.is_file():
        return None
    try:
        found: dict[str, Any] = read_json(path)
        if isinstance(found["step"], int) and _rank(found["adherence"]):
            return found
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    raise StoreError(
        f"{path}: broken: expected 'step' and 'adherence', as training writes them: delete its folder"
    )


def _rank(adherence: Mapping[str, float | None]) -> tuple[float, float] | None:
    """Return what makes one adapter better: the last turn, then the mean of all; None if undecided."""
    rates = [adherence[turn] for turn in sorted(adherence, key=int)]
    if not rates or rates[-1] is None:
        return None
    decided = [rate for rate in rates if rate is not None]
    return rates[-1], sum(decided) / len(decided)
