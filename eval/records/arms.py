"""The arms that need no adapter, by their names, and the histories that an arm may read."""

from __future__ import annotations

import re
from typing import Final

from gatt.errors import ConfigError

BASE: Final = "base"
"""The base model with the instruction in turn 1."""
ALONE: Final = "alone"
"""The base model with the instruction and one message, without any history: what it can do at all."""
REMINDED: Final = "base+system+reminder"
"""The base model with the instruction in turn 1, and a reminder behind every user message."""
CANNED: Final = "canned"
"""No model: one fixed string an instruction, which no yardstick may take for an answer."""
DEFAULT_ARMS: Final = (BASE, ALONE, REMINDED, CANNED)
WITHOUT_HISTORY: Final = (ALONE, CANNED)
"""Arms that read no history, so that all their replies to a case are asked for at once."""
_WINDOW: Final = re.compile(r"window_([1-9]\d*)")
_SLIP: Final = re.compile(r"slip_([1-9]\d*)")

History = str
"""`reference`, `own` or `slip_K`, see `check_history`."""


def window_of(arm: str) -> int | None:
    """Return K of the arm `window_K`, which reads the instruction and the last K exchanges; else None."""
    match = _WINDOW.fullmatch(arm)
    return int(match[1]) if match else None


def is_untrained(arm: str) -> bool:
    """Whether an arm needs no adapter."""
    return arm in DEFAULT_ARMS or window_of(arm) is not None


def slips_of(history: History) -> int:
    """Return K of the history `slip_K`: its first K replies are the dialogue's own. 0 for the others."""
    match = _SLIP.fullmatch(history)
    return int(match[1]) if match else 0


def check_history(history: str) -> None:
    """Raise `ConfigError` for a name other than `reference`, `own`, or `slip_` with a number from 1."""
    if history not in ("reference", "own") and not slips_of(history):
        raise ConfigError(
            f"history {history!r}: expected 'reference', 'own' or 'slip_K' (the model's own after K replies "
            "that ignore the instruction, such as slip_2)"
        )


def is_stepwise(arm: str, history: History) -> bool:
    """Whether an arm's next prompt holds its earlier replies, so that it is asked turn by turn."""
    return history != "reference" and arm not in WITHOUT_HISTORY
