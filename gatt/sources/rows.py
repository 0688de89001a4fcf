"""One row of a conversational data set, in messages or ShareGPT form, as a dialogue."""

from __future__ import annotations

from collections.abc import Mapping

from gatt.data.dialogue import Dialogue, parse_dialogue
from gatt.errors import DataError

SPEAKERS = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "assistant": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "system": "system",
}
"""ShareGPT `from` -> role."""

COLUMNS = ("messages", "conversations")
"""Where a row's messages may stand, the first found is taken."""


def parse_row(raw: object, default_id: str | None = None) -> Dialogue:
    """Return the dialogue of a row with `messages`, or with ShareGPT's `conversations`.

    Items of `conversations` may be `{"from", "value"}` or `{"role", "content"}`.

    Raises:
        DataError: neither form, an unknown speaker, or see `gatt.data.dialogue.Dialogue`.
    """
    if not isinstance(raw, Mapping) or "messages" in raw or "conversations" not in raw:
        return parse_dialogue(raw, default_id)
    turns = raw["conversations"]
    if not isinstance(turns, list):
        raise DataError(f"'conversations' is {type(turns).__name__}: expected a list")
    messages = [_message(index, turn) for index, turn in enumerate(turns, start=1)]
    identity = raw.get("id", default_id)
    return parse_dialogue(
        {"id": default_id if identity is None else identity, "messages": messages}
    )


def _message(index: int, turn: object) -> object:
    if not isinstance(turn, Mapping) or not {"from", "value"} <= set(turn):
        return turn
    speaker = turn["from"]
    if not isinstance(speaker, str) or speaker not in SPEAKERS:
        raise DataError(
            f"message {index}: unknown speaker {speaker!r}: expected one of {', '.join(SPEAKERS)}"
        )
    return {"role": SPEAKERS[speaker], "content": turn["value"]}
