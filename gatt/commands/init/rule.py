"""What judges a reply under a sentence, or a part of it, and what helps a teacher to follow it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gatt.data.instruction import Entry
from gatt.verifiers.spec import VerifierSpec

_LONG_KINDS: Final = frozenset({"bullets", "haiku", "lines", "paragraphs", "json_object"})
_LEAST_LONG: Final = {"words": 13, "sentences": 3}


@dataclass(frozen=True)
class PartChecks:
    """Verifiers, with examples on which their verdicts are right."""

    about: str
    """What is judged, in a few words."""
    verifiers: tuple[VerifierSpec, ...]
    hint: str = ""
    utterances: tuple[str, ...] = ()
    prefills: tuple[str, ...] = ()
    good: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()
    obey: str = "{reply}"
    """Makes a reply follow it, where words can be added for that."""
    facts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Facts of the speaker that a user may ask for."""
    program: str = ""

    @property
    def is_long(self) -> bool:
        """Whether a reply of one short sentence cannot follow it."""
        return any(
            spec.kind in _LONG_KINDS or spec.params.get("min", 0) >= _LEAST_LONG.get(spec.kind, 99)
            for spec in self.verifiers
        )

    @classmethod
    def of(cls, entry: Entry, about: str) -> PartChecks:
        """Return the rule of a catalogue entry."""
        names = ("verifiers", "utterances", "prefills", "good", "bad", "facts", "program")
        return cls(about, hint=entry.hint or "", **{name: getattr(entry, name) for name in names})


@dataclass(frozen=True)
class SentencePart:
    """One thing that the user's sentence asks for."""

    about: str
    """It in the user's words."""
    rule: PartChecks | None = None
    """None where no rule can tell in every reply."""
    asks: tuple[str, ...] = ()
    """Messages that ask for what it forbids."""
    replies: tuple[str, ...] = ()
    """Replies that decline."""

    @property
    def is_judged(self) -> bool:
        """Whether anything judges it."""
        return self.rule is not None or bool(self.asks)
