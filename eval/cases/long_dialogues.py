"""Long dialogues, made of several that are joined end to end; each is used once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gatt.data.dialogue import Dialogue, Message
from gatt.errors import DataError


@dataclass(frozen=True, slots=True)
class LongDialogue:
    """Several dialogues joined end to end."""

    dialogue: Dialogue
    seams: tuple[int, ...]
    """Turns, counted from 1, at which the next dialogue begins."""
    parts: tuple[Dialogue, ...]
    """The dialogues that were joined, complete: the last one may be longer than its part here."""


def join_dialogues(dialogues: Sequence[Dialogue], num_turns: int) -> dict[str, LongDialogue]:
    """Return dialogues of exactly `num_turns` turns, by their ids.

    Dialogues are joined in order until the result is long enough, and the last one is cut. No
    dialogue is used twice, so that the results stay independent.

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
        parts.append(dialogue)
        if dialogue.num_turns >= missing:
            joined = _joined(parts, num_turns)
            found[joined.dialogue.id] = joined
            parts = []
    if not found:
        total = sum(part.num_turns for part in parts)
        raise DataError(
            f"{len(dialogues)} dialogues with {total} turns together give none of {num_turns} turns: "
            "expected more of them, lower num_turns or allow more of the source"
        )
    return found


def parts_of(dialogue: Dialogue, joined: Mapping[str, LongDialogue]) -> tuple[Dialogue, ...]:
    """Return the dialogues that one consists of, whole; itself if it was not joined."""
    long = joined.get(dialogue.id)
    return (dialogue,) if long is None else long.parts


def _joined(parts: Sequence[Dialogue], num_turns: int) -> LongDialogue:
    messages: list[Message] = []
    seams = []
    for part in parts:
        if messages:
            seams.append(len(messages) // 2 + 1)
        messages += part.messages
    name = "+".join(part.id for part in parts)
    return LongDialogue(
        Dialogue(name, tuple(messages[: 2 * num_turns])), tuple(seams), tuple(parts)
    )
