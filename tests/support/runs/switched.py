"""Samples whose instruction changes in mid-dialogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gatt.data.sample import GattSample
from gatt.data.switches import Switch
from tests.support.models.tiny import sample
from tests.support.runs.stages import hobby


def to(value: str, turn: int = 2, place: Any = "user") -> Switch:
    """Return the change to another hobby."""
    return Switch(turn, "replace", place, f"Now instead: You enjoy {value}.", hobby(value))


def cancel(turn: int = 2, place: Any = "user") -> Switch:
    """Return the change to nothing."""
    return Switch(turn, "cancel", place, "No more of that.", None)


def switched(switches: Sequence[Switch], num_turns: int = 3, **changes: Any) -> GattSample:
    """Return a sample under "You enjoy tennis." with these changes."""
    made = replace(sample(1, num_turns, **changes), instruction=hobby("tennis"))
    return replace(made, switches=tuple(switches))
