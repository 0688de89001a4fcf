"""What the filters are told: their configuration, and one draw of the teacher with its context."""

from __future__ import annotations

from dataclasses import dataclass

from gatt.data.instruction import Instruction
from gatt.errors import ConfigError
from gatt.generation.base import FinishReason


@dataclass(frozen=True, kw_only=True)
class QualityConfig:
    """Which replies are refused as targets, whatever the verifiers say.

    Empty replies and replies cut by the length limit are always refused; every other
    filter can be switched off.

    Raises:
        ConfigError: a value out of its range.
    """

    degenerate: bool = True
    """Refuse loops, random characters and texts without words. Verifiers refuse these too, but plain
    dialogues have no verifiers."""
    repeated_share: float | None = 0.25
    """Refuse replies in which this share of phrases (three words, in scripts without spaces a few
    characters) occurred before; null refuses none. Lists and code are judged by whole lines."""
    clipped: bool = True
    """Refuse replies that break off: an open quotation or bracket, a comma or "and" at the end."""
    mentions_instruction: bool = True
    """Refuse replies that talk about the instruction or the brief, or repeat them."""
    says_ai: bool = True
    """Refuse replies under an instruction in which the speaker calls itself an AI or a language model."""
    repeats_prompt: bool = True
    """Refuse replies that repeat a message of the dialogue word for word."""
    near_duplicate: float | None = 0.8
    """Refuse a reply that overlaps by this share (Jaccard index of character n-grams, without what
    the instruction itself prescribes) with another target of its sample; null refuses none."""
    short_words: int = 4
    """A reply of at most so many words ("Of course.") may occur `short_repeats` times in a sample."""
    short_repeats: int = 2
    """How often the same short reply may be a target of one sample."""

    def __post_init__(self) -> None:
        for name in ("repeated_share", "near_duplicate"):
            value = getattr(self, name)
            if value is not None and not 0 < value <= 1:
                raise ConfigError(f"{name} is {value}: expected a share in (0, 1], or null")
        if self.short_words < 0:
            raise ConfigError(f"short_words is {self.short_words}: expected 0 or more")
        if self.short_repeats < 1:
            raise ConfigError(f"short_repeats is {self.short_repeats}: expected at least 1")


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
