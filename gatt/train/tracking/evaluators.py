"""Who measures a model while it trains: found by name, since this package imports no evaluation.

An entry point of the group `gatt.train_evaluators` is a function that takes the run's
configuration and its training dialogues and returns a `TrainEvaluator`. It is called before the
model is loaded, and only where `track` asks for it.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol

from gatt.data.training_marks import TrainedOn
from gatt.errors import ConfigError
from gatt.generation.base import Engine
from gatt.runs.suggest import did_you_mean
from gatt.train.config import TrainConfig

GROUP: Final = "gatt.train_evaluators"


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


class TrainEvaluator(Protocol):
    """Measures how a model adheres at each of some turns."""

    @property
    def num_cases(self) -> int:
        """Dialogues under an instruction, at least 1."""
        ...

    def measure(
        self, engine: Engine, adapter: str, *, part: int, num_parts: int
    ) -> Mapping[int, Counts]:
        """Return the counts by turn of one part of the cases, from 0; all parts are all cases.

        The engine answers with the model in training, under the name of its adapter.
        """
        ...


def make_train_evaluator(config: TrainConfig, trained_on: TrainedOn) -> TrainEvaluator:
    """Return the evaluator that `track` names, with its cases read and checked.

    Raises:
        ConfigError: no evaluator of that name, or one that cannot be loaded.
        GattError: whatever it raises for its settings and cases.
    """
    name = config.track.evaluator if config.track else ""
    known = {entry.name: entry for entry in importlib.metadata.entry_points(group=GROUP)}
    if name not in known:
        hint = did_you_mean(name, known)
        listed = ", ".join(sorted(known)) or "none; install this project again"
        raise ConfigError(f"track.evaluator: no evaluator {name!r}{hint} (known: {listed})")
    try:
        make = known[name].load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"track.evaluator: {name!r} cannot be loaded: {error}: install what is missing"
        ) from error
    evaluator: TrainEvaluator = make(config, trained_on)
    return evaluator
