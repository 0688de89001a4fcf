"""The reply of an arm to one turn, before it is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from eval.records.case import Case
from gatt.generation.base import Generation


@dataclass(frozen=True)
class Reply:
    """One reply of an arm: to user message `turn`, or to the probe that replaces it."""

    case: Case
    turn: int
    kind: Literal["turn", "probe"]
    user: str
    generation: Generation
