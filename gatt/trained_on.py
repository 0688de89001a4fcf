"""Which dialogues an adapter was trained on: kept beside it, so that no evaluation repeats them.

A dialogue is known by its first user messages, since training and evaluation may
cut the same one after different turns.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from gatt.dialogue import Dialogue
from gatt.errors import DataError
from gatt.records import atomic_write_json

FILE = "trained_on.json"
NUM_TURNS = 4
"""User messages by which a dialogue is known, or all of a shorter one."""


def dialogue_mark(dialogue: Dialogue) -> str:
    """Return 16 hex digits that dialogues with the same first user messages share."""
    text = "\x1f".join(" ".join(turn.split()) for turn in dialogue.user_turns[:NUM_TURNS])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write_marks(folder: Path, dialogues: Iterable[Dialogue]) -> None:
    """Write the marks of an adapter's training dialogues into its folder.

    Raises:
        StoreError: the file cannot be written.
    """
    marks = sorted({dialogue_mark(dialogue) for dialogue in dialogues})
    atomic_write_json(folder / FILE, {"num_turns": NUM_TURNS, "dialogues": marks})


def read_marks(folder: Path) -> frozenset[str] | None:
    """Return the marks of an adapter's training dialogues, None where its folder does not say.

    Raises:
        DataError: a file that is not of that form.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["num_turns"] != NUM_TURNS:
            return None
        return frozenset(map(str, found["dialogues"]))
    except (ValueError, KeyError, TypeError):
        raise DataError(
            f"{path}: broken: expected 'num_turns' and 'dialogues', as training writes them; delete it "
            "to evaluate without knowing what the adapter was trained on"
        ) from None
