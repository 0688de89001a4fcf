"""The words with which an instruction is changed in the middle of a dialogue. No torch here."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Final

from gatt.instruction import Entry, Instruction, Wording
from gatt.schedule import SwitchKind

WORDINGS: Final[Mapping[tuple[SwitchKind, Wording], tuple[str, ...]]] = {
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
}
"""`new` is the wording of what comes, `old` the short one of what goes."""


def announce_new(kind: SwitchKind, new: Instruction, rng: random.Random) -> str:
    """Return the words that replace an instruction, or add to it.

    Args:
        kind: `replace` or `add`.
        new: what comes, in its own wording.
        rng: chooses; the same state gives the same text.
    """
    return rng.choice(WORDINGS[kind, new.wording]).format(new=new.text)


def announce_end(entries: Sequence[Entry], wording: Wording, rng: random.Random) -> str:
    """Return the words that take an instruction back.

    A verbose text is one of the catalogue's for these entries, or a general one.

    Args:
        entries: those that the instruction is made of.
        wording: verbose or terse.
        rng: chooses; the same state gives the same text.
    """
    words = WORDINGS["cancel", wording]
    if wording == "terse":
        return rng.choice(words).format(old=" ".join(e.terse for e in entries))
    own = (
        [" ".join(rng.choice(e.cancel) for e in entries)] if all(e.cancel for e in entries) else []
    )
    return rng.choice([*own, *own, *words])
