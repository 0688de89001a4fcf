"""The words with which an instruction is changed in the middle of a dialogue. No torch here."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gatt.data.instruction import Entry, Instruction, Wording
from gatt.data.switches import SwitchKind

_Texts = Mapping[tuple[SwitchKind, Wording], tuple[str, ...]]


@dataclass(frozen=True)
class Announcements:
    """Words for every kind of change; `{new}` stands for what comes, `{old}` for what goes, in short."""

    texts: _Texts
    has_own: bool
    """Whether the catalogue's words for the end of an entry are among them."""

    def of_new(self, kind: SwitchKind, new: Instruction, rng: random.Random) -> str:
        """Return the words that replace an instruction, or add to it.

        Args:
            kind: `replace` or `add`.
            new: what comes, in its own wording.
            rng: chooses; the same state gives the same text.
        """
        return rng.choice(self.texts[kind, new.wording]).format(new=new.text)

    def of_end(self, entries: Sequence[Entry], wording: Wording, rng: random.Random) -> str:
        """Return the words that take an instruction back.

        Args:
            entries: those that the instruction is made of.
            wording: verbose or terse.
            rng: chooses; the same state gives the same text.
        """
        words = self.texts["cancel", wording]
        if wording == "terse":
            return rng.choice(words).format(old=" ".join(e.terse for e in entries))
        has_own = self.has_own and all(e.cancel for e in entries)
        own = [" ".join(rng.choice(e.cancel) for e in entries)] if has_own else []
        return rng.choice([*own, *own, *words])


TRAINING: Final = Announcements(
    {
        ("replace", "verbose"): (
            "Forget what you were told before. {new}",
            "The earlier instruction no longer holds. Instead: {new}",
            "Let us change that. {new} This replaces what I asked of you before.",
            "Change of plan, drop what you have been doing. {new}",
        ),
        ("replace", "terse"): ("Now instead: {new}", "Change: {new}", "No longer that, but: {new}"),
        ("add", "verbose"): (
            "In addition to what you were told: {new}",
            "Keep to the earlier instruction, and one more thing. {new}",
            "On top of that: {new}",
        ),
        ("add", "terse"): ("Also: {new}", "In addition: {new}", "One more. {new}"),
        ("cancel", "verbose"): (
            "Forget what you were told at the beginning and answer as you normally would.",
            "The earlier instruction no longer holds. Just talk normally from here on.",
            "You need not do what I asked of you before any more.",
        ),
        ("cancel", "terse"): ("Cancelled: {old}", "No longer: {old}", "Stop this now: {old}"),
    },
    has_own=True,
)
"""What `gatt synth` announces changes with."""
EVALUATION: Final = Announcements(
    {
        ("replace", "verbose"): (
            "I have a different wish by now. {new}",
            "Scratch that rule of mine, here is a better one. {new}",
            "I would rather have something else. {new} Only this counts.",
        ),
        ("replace", "terse"): ("Switch to: {new}", "New instruction: {new}"),
        ("add", "verbose"): (
            "There is something more I want of you. {new}",
            "Besides what I have already asked for: {new}",
        ),
        ("add", "terse"): ("Plus: {new}", "A second one: {new}"),
        ("cancel", "verbose"): (
            "That rule of mine is off. Answer however you like.",
            "I do not want what I asked for any longer, let us simply chat.",
            "You are free of the instruction that I gave you.",
        ),
        ("cancel", "terse"): ("Off: {old}", "Drop this: {old}"),
    },
    has_own=False,
)
"""What `gatt eval` announces them with: nothing that `gatt synth` says, so that no phrase is known by heart."""
