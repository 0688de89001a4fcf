"""Adherence turn by turn while a model trains, and the best adapter so far.

The model in training itself replies, with its adapter: no second copy is loaded. (In float32 on a CPU
the engine lays the weights out once more while it samples, as always; see
`gatt.generation.local.cpu_linear`.) Measuring does not change the training, bit for bit.

The evaluator is made before the model is loaded, and only if `track` is set.
"""

from __future__ import annotations

import importlib.metadata
import logging
import time
from collections.abc import Callable, Mapping
from operator import add
from pathlib import Path
from typing import Any, Final, NamedTuple

from transformers.trainer_callback import TrainerCallback, TrainerState
from transformers.training_args import TrainingArguments

from gatt.data.training_marks import TrainedOn
from gatt.generation.local.engine import TransformersEngine
from gatt.models.load import LoadedModel
from gatt.runs.input_file import read_json
from gatt.train.config import TrackConfig, TrainConfig
from gatt.train.progress import ADHERENCE
from gatt.train.run_folder import TRACKED
from gatt.train.runtime import current_runtime, from_everyone, from_main, undisturbed
from gatt.train.sharding import refuse_spread_weights
from gatt.train.trainer import RowTrainer


class Counts(NamedTuple):
    """Replies at one turn, by their verdict."""

    num_passed: int = 0
    num_failed: int = 0
    num_undecided: int = 0

    @property
    def rate(self) -> float | None:
        """Share of the decided that passed; None where none is decided."""
        decided = self.num_passed + self.num_failed
        return self.num_passed / decided if decided else None


def make_train_evaluator(config: TrainConfig, trained_on: TrainedOn) -> Any:
    """Return the `eval.rollout.during_training.AdherenceEvaluator` of a run, its cases read and checked."""
    # An entry point, since nothing of `gatt` may import `eval`.
    [entry] = importlib.metadata.entry_points(group="gatt.train_evaluators", name="adherence")
    return entry.load()(config, trained_on)


ADAPTER: Final = "default"
"""PEFT's name of the adapter in training."""

log = logging.getLogger(__name__)


class AdherenceTracker(TrainerCallback):  # type: ignore[misc]
    """Measures every so many steps and after the last one; each process its share of the cases."""

    def __init__(
        self,
        trainer: RowTrainer,
        evaluator: Any,
        track: TrackConfig,
        best: Path,
        keep: Callable[[Mapping[str, Any]], None],
    ) -> None:
        """Set up the callback; `trainer.add_callback` takes it.

        `evaluator` comes from `make_train_evaluator`. `keep` saves the current adapter with its rates in the
        folder `best`; every process calls it.

        Raises:
            ConfigError: a model whose weights no process holds whole.
        """
        refuse_spread_weights(trainer.accelerator, "track", "null")
        self._trainer = trainer
        self._evaluator = evaluator
        self._track = track
        self._record = best / TRACKED
        self._keep = keep
        self._best: Mapping[str, Any] | None = None
        """What was measured of the adapter that is kept."""

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        """Take up the best of an interrupted run."""
        self._best = from_main(lambda: read_json(self._record) if self._record.is_file() else None)

    def on_step_end(self, _: TrainingArguments, state: TrainerState, *__: Any, **___: Any) -> None:
        """Measure if it is time."""
        if state.global_step % self._track.every_steps == 0 or state.global_step >= state.max_steps:
            self.measure(state.global_step)

    def measure(self, step: int) -> None:
        """Measure the model, log the rates, and store the adapter if it is the best so far.

        Raises:
            GattError: the engine gave no reply, or another process failed.
        """
        began = time.monotonic()
        runtime = current_runtime()
        counts: dict[int, Counts] = {}
        for part in from_everyone(
            lambda: self._counts(runtime.process_index, runtime.num_processes)
        ):
            for turn, counted in part.items():
                counts[turn] = Counts(*map(add, counts.get(turn, Counts()), counted))
        seconds = time.monotonic() - began
        rates = {turn: counts[turn].rate for turn in sorted(counts)}
        values = {f"{ADHERENCE}/turn_{t}": rate for t, rate in rates.items() if rate is not None}
        values[f"{ADHERENCE}/num_undecided"] = sum(c.num_undecided for c in counts.values())
        values[f"{ADHERENCE}/seconds"] = seconds
        self._trainer.log_beside(values, seconds)
        tracked: dict[str, Any] = {
            "step": step,
            "suite": self._track.suite,
            "history": self._track.history,
            "num_cases": self._evaluator.num_cases,
            "turn": max(rates),
            "adherence": {str(turn): rate for turn, rate in rates.items()},
        }
        if self._best and _measured_on(self._best) != _measured_on(tracked):
            log.warning(
                "%s: the best adapter so far (step %d) was measured under other settings: it is not compared "
                "with later ones, and the next measurement replaces it",
                self._record.parent, self._best["step"],
            )  # fmt: skip
            self._best = None
        rank = _rank(tracked["adherence"])
        best = _rank(self._best["adherence"]) if self._best else None
        if rank and (best is None or rank > best):
            self._best = tracked
            self._keep(tracked)

    def _counts(self, part: int, num_parts: int) -> Mapping[int, Counts]:
        model, tokenizer = self._trainer.model, self._trainer.processing_class
        with undisturbed(model):
            # Made anew: what an engine keeps of a model would be in training's way.
            engine = TransformersEngine(LoadedModel(model, tokenizer, "the model in training"))
            counts: Mapping[int, Counts]
            counts = self._evaluator.measure(engine, ADAPTER, part=part, num_parts=num_parts)
        return counts


def _measured_on(tracked: Mapping[str, Any]) -> list[Any]:
    """Return what two records must share, or their rates say nothing of each other."""
    return [*(tracked[n] for n in ("suite", "history", "num_cases")), *tracked["adherence"]]


def _rank(adherence: Mapping[str, float | None]) -> tuple[float, float] | None:
    """Return what makes one adapter better: the last turn, then the mean of all; None if undecided."""
    rates = [adherence[turn] for turn in sorted(adherence, key=int)]
    if not rates or rates[-1] is None:
        return None
    decided = [rate for rate in rates if rate is not None]
    return rates[-1], sum(decided) / len(decided)
