"""What a report says of a finished training: steps, time, tokens, loss, and the origins of its targets."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gatt.runs.input_file import read_json
from gatt.train.run_folder import FILE, FILES

log = logging.getLogger(__name__)

SETTINGS_FILE: Final = FILES[1]
"""Of PEFT: in the folder of every adapter."""


@dataclass(frozen=True, kw_only=True)
class TrainingRecord:
    """A finished training."""

    objective: str
    num_steps: int
    seconds: float
    """Of the last start."""
    hardware: str
    """The GPUs, else the processor."""
    num_supervised_tokens: int
    """Tokens that carried loss, over all epochs."""
    num_tokens: int
    """Tokens of all rows: of one epoch."""
    num_samples: int
    num_used: int
    """Samples of which at least one target was learned."""
    kinds: Mapping[str, int]
    """Targets by how they came to be, see `gatt.data.sample.KIND_NAMES`."""
    loss: tuple[tuple[int, float], ...]
    """Step and loss of each logged step; empty where no checkpoint is left."""


def read_training(adapter: Path) -> TrainingRecord | None:
    """Return the finished training that made an adapter; None if it is unknown or not finished.

    A file that cannot be read is named in the log: a report is worth more than what it lacks.

    Anything that is no folder, such as a name that a server knows, has no training.
    """
    path = adapter.parent / FILE
    if not (path.is_file() and (adapter / SETTINGS_FILE).is_file()):
        return None
    try:
        record = read_json(path)
        if record["status"] != "finished":
            return None
        data, result, made = record["data"], record["result"], record["provenance"]
        return TrainingRecord(
            objective=record["config"]["objective"],
            num_steps=result["num_steps"],
            seconds=result["seconds"],
            hardware=", ".join(made["gpus"]) or made["cpu"],
            num_supervised_tokens=result["num_supervised_tokens"],
            num_tokens=data["num_tokens"],
            num_samples=data["num_samples"],
            num_used=data["num_used"],
            kinds=data["kinds"],
            loss=_loss(adapter.parent, result["num_steps"]),
        )
    except (OSError, ValueError, TypeError, KeyError) as error:
        log.warning(
            "%s: not the record of a training (%s: %s): the report lacks how %s was trained",
            path, type(error).__name__, error, adapter.name,
        )  # fmt: skip
        return None


def _loss(folder: Path, num_steps: int) -> tuple[tuple[int, float], ...]:
    """Return what the trainer logged, from the checkpoint of the last step."""
    path = folder / f"checkpoint-{num_steps}" / "trainer_state.json"
    if not path.is_file():
        return ()
    logged: list[dict[str, Any]] = read_json(path)["log_history"]
    return tuple((entry["step"], entry["loss"]) for entry in logged if "loss" in entry)
