"""One draw of the teacher, with what a filter may look at."""

from __future__ import annotations

from dataclasses import dataclass

from gatt.data.instruction import Instruction
from gatt.generation.base import FinishReason


@dataclass(frozen=True, slots=True)
class Draw:
    """A reply as sampled, without outer white space, and where it stands."""

    text: str
    finish: FinishReason
    instruction: Instruction | None
    """The one it was sampled under; None in a plain dialogue."""
    brief: str | None = None
    """What else the teacher was told with every message."""
    told: tuple[str, ...] = ()
    """Messages of the dialogue up to and including the question."""
    plain_reply: str = ""
    """The dialogue's own reply at this turn; empty if it has none."""

    @property
    def question(self) -> str:
        """The user message that is answered."""
        return self.told[-1] if self.told else ""
