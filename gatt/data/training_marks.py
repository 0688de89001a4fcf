"""Which dialogues and instructions an adapter was trained on: kept beside it for evaluations.

A dialogue is known by its first user messages, since training and evaluation may
cut the same one after different turns. No evaluation repeats them; which instructions are seen
ones, the catalogue's splits alone do not say: training may have drawn a part of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from gatt.data.dialogue import Dialogue
from gatt.errors import DataError
from gatt.runs.atomic_file import atomic_write_json
from gatt.runs.input_file import read_json
from gatt.runs.values import ShapeError, typed

FILE = "trained_on.json"
NUM_TURNS = 4
"""User messages by which a dialogue is known, or all of a shorter one."""
MIN_TURNS = 3
"""Fewer messages make two dialogues one only where both have no more: many begin with the same greeting."""


def dialogue_mark(dialogue: Dialogue, num_turns: int = NUM_TURNS) -> str:
    """Return 16 hex digits that dialogues with the same first user messages share."""
    # Questions about the speaker, and for what is forbidden, are put into the same dialogue anew each time.
    own = [
        message.content
        for message in dialogue.messages
        if message.role == "user"
        and (message.expect is None or message.expect.kind not in ("speaker", "topic"))
    ]
    turns = (own or dialogue.user_turns)[:num_turns]
    text = "\x1f".join(" ".join(turn.split()) for turn in turns)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(slots=True)
class TrainedOn:
    """What an adapter was trained on."""

    dialogues: set[str]
    """Marks of its dialogues."""
    beginnings: set[str] = field(default_factory=set)
    """Marks of their first messages, `MIN_TURNS` and more but not all that `dialogues` know."""
    entries: set[str] | None = None
    """Ids of the catalogue entries that it has targets of; None where that is not known."""

    @classmethod
    def of(cls, dialogues: Iterable[Dialogue], entries: Iterable[str] | None = None) -> TrainedOn:
        """Return the marks of training dialogues, with the entries that were trained on."""
        trained_on = cls(set(), entries=None if entries is None else set(entries))
        for dialogue in dialogues:
            trained_on.add(dialogue)
        return trained_on

    def add(self, dialogue: Dialogue) -> None:
        """Keep the marks of one more dialogue."""
        self.dialogues.add(dialogue_mark(dialogue))
        self.beginnings |= _beginnings(dialogue)

    def __contains__(self, dialogue: Dialogue) -> bool:
        """Whether a dialogue equals one of them, or one is the beginning of the other."""
        mark = dialogue_mark(dialogue)
        return (
            mark in self.dialogues
            or mark in self.beginnings
            or not self.dialogues.isdisjoint(_beginnings(dialogue))
        )

    def __or__(self, other: TrainedOn) -> TrainedOn:
        """Return the marks of both, and the entries where both say them."""
        mine, others = self.entries, other.entries
        return TrainedOn(
            self.dialogues | other.dialogues,
            self.beginnings | other.beginnings,
            None if mine is None or others is None else mine | others,
        )


def _beginnings(dialogue: Dialogue) -> set[str]:
    return {
        dialogue_mark(dialogue, num) for num in range(MIN_TURNS, min(NUM_TURNS, dialogue.num_turns))
    }


def write_marks(folder: Path, trained_on: TrainedOn) -> None:
    """Write what an adapter was trained on into its folder.

    Raises:
        StoreError: the file cannot be written.
    """
    marks = {"dialogues": sorted(trained_on.dialogues), "beginnings": sorted(trained_on.beginnings)}
    if trained_on.entries is not None:
        marks["entries"] = sorted(trained_on.entries)
    atomic_write_json(folder / FILE, {"num_turns": NUM_TURNS, **marks})


def read_marks(folder: Path) -> TrainedOn | None:
    """Return what an adapter was trained on, None where its folder does not say.

    Raises:
        DataError: a file that is not of that form.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        marks = read_json(path)
        if marks.pop("num_turns") != NUM_TURNS:
            return None
        return typed(TrainedOn, marks)
    except (ValueError, KeyError, TypeError, AttributeError, ShapeError):
        raise DataError(
            f"{path}: broken: expected 'num_turns', and lists of text in 'dialogues', 'beginnings' and "
            "'entries', as training writes them; delete it to evaluate without knowing what the adapter "
            "was trained on"
        ) from None
