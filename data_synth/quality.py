"""Settings of the filters: which sampled replies are refused as targets."""

from __future__ import annotations

from dataclasses import dataclass

from gatt.errors import ConfigError


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
    """Refuse replies that repeat a message of the dialogue word for word, or little else than the user's
    message (see `gatt.verifiers.text.copying`)."""
    answers: bool = True
    """Refuse replies that lack what their turn expects (`expect`), such as the answer to its question."""
    declines: bool = True
    """Refuse replies that decline an ordinary message, one that does not ask for what the instruction forbids
    (verifier `declines`, English). A rewritten reply is refused if the own reply declines nothing, a sampled
    one if its instruction forbids something."""
    introductions: bool = True
    """Refuse replies that only say who the speaker is, by facts of the instruction, where the message asks no
    such thing and its turn expects nothing (English, and simple German, Spanish and French)."""
    keeps_facts: bool = True
    """Refuse rewritten replies that lose a number, name, link or code of the own reply, or add one."""
    near_duplicate: float | None = 0.8
    """Refuse a reply whose overlap with another target of its sample is at least this share (Jaccard index of
    character n-grams, without the words that the instruction prescribes); null refuses none. A reply of at most
    four words ("Of course.") may occur twice."""

    def __post_init__(self) -> None:
        for name in ("repeated_share", "near_duplicate"):
            value = getattr(self, name)
            if value is not None and not 0 < value <= 1:
                raise ConfigError(f"{name} is {value}: expected a share in (0, 1], or null")
