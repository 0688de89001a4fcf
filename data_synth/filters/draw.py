"""One draw of the teacher, with its context for the filters."""

from __future__ import annotations

from dataclasses import dataclass

from gatt.data.instruction import Instruction
from gatt.generation.base import FinishReason


@dataclass(frozen=True, slots=True)
class Draw:
    """A sampled reply without outer white space, and its context."""

    text: str
    finish: FinishReason
    instruction: Instruction | None
    """The instruction in force; None in a plain dialogue."""
    brief: str | None = None
    """Text that the teacher also reads with every message."""
    told: tuple[str, ...] = ()
    """Messages of the dialogue up to and including the question."""
    plain_reply: str = ""
    """The dialogue's own reply at this turn; empty if it has none."""

    @property
    def question(self) -> str:
        """The user message that the reply answers."""
        return self.told[-1] if self.told else ""
