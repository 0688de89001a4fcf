"""What is measured of a model while it trains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gatt.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class TrackConfig:
    """Adherence turn by turn, of the model in training, every so many steps.

    Raises:
        ConfigError: a value out of its range.
    """

    every_steps: int = 50
    """Optimiser steps between two measurements; the last step is always measured."""
    suite: str = "behaviour"
    """A suite that is shipped (`gatt suite list`) or the YAML file of one: dialogues, instructions and
    how replies are drawn. Dialogues that are trained on are refused."""
    num_dialogues: int = 8
    """Cases in each of the suite's splits, in place of the suite's own number; a file of cases has
    its own."""
    turns: tuple[int, ...] | None = (1, 2, 4, 8, 20)
    """Turns at which replies are judged; null takes those of the suite."""
    history: Literal["reference", "own"] = "reference"
    """`reference`: replies within the dialogue as it stands, the judged turns alone; `own`: the model
    reads its own replies, so that all turns up to the last one are answered."""
    keep_best: bool = True
    """Keep the adapter that adhered best at the last of these turns, in `output_dir/best_adapter`."""
    evaluator: str = "adherence"
    """Who measures: a name of the entry-point group `gatt.train_evaluators`."""

    def __post_init__(self) -> None:
        problems = [
            f"{name} is {getattr(self, name)}: expected at least 1"
            for name in ("every_steps", "num_dialogues")
            if getattr(self, name) < 1
        ]
        turns = self.turns
        if turns is not None and (turns != tuple(sorted(set(turns))) or not turns or turns[0] < 1):
            problems.append(f"turns is {list(turns)}: expected rising turns from 1 on, or null")
        if problems:
            raise ConfigError("; ".join(problems))
