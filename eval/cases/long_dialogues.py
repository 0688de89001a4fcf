"""Long dialogues, made of several that are joined end to end; each is used once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from gatt.data.dialogue import Dialogue
from gatt.errors import DataError


@dataclass(frozen=True, slots=True)
class LongDialogue:
    """Several dialogues joined end to end."""

    dialogue: Dialogue
    parts: tuple[Dialogue, ...]
    """The dialogues that were joined, complete: the last one may be longer than its part here."""

    @property
    def seams(self) -> tuple[int, ...]:
        """Turns, counted from 1, at which the next dialogue begins."""
        return tuple(1 + num for num in accumulate(part.num_turns for part in self.parts[:-1]))


def join_dialogues(dialogues: Sequence[Dialogue], num_turns: int) -> dict[str, LongDialogue]:
    """Return dialogues of exactly `num_turns` turns, by their ids.

    Dialogues (whole exchanges, without a system message) are joined in order until the result is
    long enough, and the last one is cut. None is used twice, so that the results stay independent.

    Raises:
        DataError: all of them together are shorter than one.
    """
    found: dict[str, LongDialogue] = {}
    parts: list[Dialogue] = []
    for dialogue in dialogues:
        parts.append(dialogue)
        if sum(part.num_turns for part in parts) >= num_turns:
            name = "+".join(part.id for part in parts)
            messages = tuple(message for part in parts for message in part.messages)
            joined = Dialogue(name, messages[: 2 * num_turns])
            found[name] = LongDialogue(joined, tuple(parts))
            parts = []
    if not found:
        total = sum(part.num_turns for part in parts)
        raise DataError(
            f"{len(dialogues)} dialogues with {total} turns together give none of {num_turns} turns: "
            "expected more of them, lower num_turns or allow more of the source"
        )
    return found
