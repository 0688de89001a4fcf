"""Dialogues longer than people write them: several end to end, each used once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gatt.dialogue import Dialogue, Message
from gatt.errors import DataError


@dataclass(frozen=True, slots=True)
class LongDialogue:
    """Dialogues end to end."""

    dialogue: Dialogue
    seams: tuple[int, ...]
    """Turns, counted from 1, at which the next dialogue begins."""


def join_dialogues(dialogues: Sequence[Dialogue], num_turns: int) -> dict[str, LongDialogue]:
    """Return dialogues of exactly `num_turns` turns, by their ids.

    Each is put together from the next ones in order until it is long enough, and
    the last of these is cut; none goes into two, so that they stay independent.

    Args:
        dialogues: whole exchanges, without a system message.
        num_turns: wanted.

    Raises:
        DataError: all of them together are shorter than one.
    """
    found: dict[str, LongDialogue] = {}
    parts: list[Dialogue] = []
    for dialogue in dialogues:
        missing = num_turns - sum(part.num_turns for part in parts)
        parts.append(dialogue.first_turns(min(missing, dialogue.num_turns)))
        if dialogue.num_turns >= missing:
            joined = _joined(parts)
            found[joined.dialogue.id] = joined
            parts = []
    if not found:
        total = sum(part.num_turns for part in parts)
        raise DataError(
            f"{len(dialogues)} dialogues with {total} turns together give none of {num_turns} turns: "
            "expected more of them, lower num_turns or allow more of the source"
        )
    return found


def parts_of(dialogue: Dialogue, joined: Mapping[str, LongDialogue]) -> list[Dialogue]:
    """Return the dialogues that one consists of; itself if it was not joined."""
    long = joined.get(dialogue.id)
    if long is None:
        return [dialogue]
    starts = [1, *long.seams, dialogue.num_turns + 1]
    return [
        Dialogue(f"{dialogue.id} from turn {start}", dialogue.messages[2 * start - 2 : 2 * end - 2])
        for start, end in pairwise(starts)
    ]


def _joined(parts: Sequence[Dialogue]) -> LongDialogue:
    messages: list[Message] = []
    seams = []
    for part in parts:
        if messages:
            seams.append(len(messages) // 2 + 1)
        messages += part.messages
    name = "+".join(part.id for part in parts)
    return LongDialogue(Dialogue(name, tuple(messages)), tuple(seams))
