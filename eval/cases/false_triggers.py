"""Catalogue entries that count for false triggers: those that ordinary replies do not satisfy.

Nearly every reply follows "use no digits", so such a reply shows nothing. An entry counts only
if no reply of `ORDINARY` satisfies its verifiers, and at most `MOST_SHARE` of the dialogues'
own replies, which were written without an instruction. The own replies at the judged turns of
plain dialogues are not used for this choice: their rate is reported beside that of the arms, as
an independent check.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from eval.records.case import Case
from gatt.data.catalog.ordinary_replies import ORDINARY, is_ordinary
from gatt.data.dialogue import Dialogue
from gatt.data.instruction import Entry
from gatt.verifiers import check_all, overall
from gatt.verifiers.graded.score import DECIDED_LATER

MOST_SHARE = 0.01
"""Largest share of own replies that may satisfy an entry: people do mention hiking sometimes."""
MOST_REPLIES = 200
"""Most own replies that are checked, each against the whole catalogue."""


@dataclass(frozen=True)
class Triggers:
    """The entries that count for false triggers."""

    entries: tuple[Entry, ...]
    left_out: tuple[str, ...]
    """Ids of the entries that ordinary replies satisfy."""
    num_ordinary: int
    """Ordinary replies that were checked, those of `ORDINARY` included."""

    def as_dict(self) -> dict[str, Any]:
        """Return the description in `results.json`."""
        return {
            "num_entries": len(self.entries),
            "num_left_out": len(self.left_out),
            "left_out": list(self.left_out),
            "num_ordinary_replies": self.num_ordinary,
        }


def find_triggers(pool: Sequence[Entry], replies: Sequence[str]) -> Triggers:
    """Return the entries of the pool that ordinary replies, and own replies of dialogues, do not satisfy."""
    left_out = tuple(e.id for e in pool if _is_ordinary(e, replies))
    entries = tuple(e for e in pool if e.id not in left_out)
    return Triggers(entries, left_out, len(ORDINARY) + len(replies))


def _is_ordinary(entry: Entry, replies: Sequence[str]) -> bool:
    if any(v.kind in DECIDED_LATER for v in entry.verifiers):
        # No rule decides it, and asking a judge for each reply and entry would cost too much.
        return True
    if is_ordinary(entry.verifiers):
        return True
    statuses = [overall(check_all(entry.verifiers, reply)) for reply in replies]
    return statuses.count("pass") > MOST_SHARE * len(replies)


def own_replies(
    dialogues: Sequence[Dialogue], cases: Sequence[Case], turns: Collection[int]
) -> list[str]:
    """Return up to `MOST_REPLIES` own replies, each once, none judged as one of a plain case."""
    plain = {case.dialogue.id for case in cases if case.instruction is None}
    found = [
        reply
        for dialogue in dialogues
        for turn, reply in enumerate(dialogue.replies, start=1)
        if dialogue.id not in plain or turn not in turns
    ]
    unique = list(dict.fromkeys(found))
    random.Random("ordinary replies").shuffle(unique)
    return unique[:MOST_REPLIES]
