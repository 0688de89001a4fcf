"""What an arm answered at one turn, before it is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from eval.records.case import Case
from gatt.generation.base import Generation


@dataclass(frozen=True)
class Reply:
    """One reply of an arm: to user message `turn`, or to the probe in its place."""

    case: Case
    turn: int
    kind: Literal["turn", "probe"]
    user: str
    generation: Generation
