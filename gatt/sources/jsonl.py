"""Dialogues from any JSONL file in messages or ShareGPT form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from gatt.data.dialogue import Dialogue, parse_dialogue, read_dialogues
from gatt.errors import DataError
from gatt.sources.base import SourceReport
from gatt.sources.config import SourceConfig

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


def read(
    config: SourceConfig,
    report: SourceReport,
) -> Iterator[Dialogue]:
    """Yield the dialogues of a file.

    The file is the user's own, so a broken line is an error and not a count.

    Raises:
        DataError: with file and line; see `gatt.data.dialogue.read_dialogues`.
    """
    for dialogue in read_dialogues(Path(config.path or "").expanduser(), parse=parse_row):
        report.num_read += 1
        yield dialogue


def parse_row(raw: object, default_id: str | None = None) -> Dialogue:
    """Return the dialogue of a row, whose messages stand in the first of `COLUMNS` that it has.

    A message may be `{"from", "value"}` or `{"role", "content"}`.

    Raises:
        DataError: neither form, an unknown speaker, or see `gatt.data.dialogue.Dialogue`.
    """
    if not isinstance(raw, Mapping):
        return parse_dialogue(raw, default_id)
    name = next((column for column in COLUMNS if column in raw), None)
    if name is None:
        return parse_dialogue(raw, default_id)
    if not isinstance(turns := raw[name], list):
        raise DataError(f"{name!r} is {type(turns).__name__}: expected a list")
    messages = [_message(index, turn) for index, turn in enumerate(turns, start=1)]
    return parse_dialogue({"id": raw.get("id"), "messages": messages}, default_id)


def _message(index: int, turn: object) -> object:
    if not isinstance(turn, Mapping) or not {"from", "value"} <= set(turn):
        return turn
    speaker = turn["from"]
    if not isinstance(speaker, str) or speaker not in SPEAKERS:
        raise DataError(
            f"message {index}: unknown speaker {speaker!r}: expected one of {', '.join(SPEAKERS)}"
        )
    return {"role": SPEAKERS[speaker], "content": turn["value"]}
