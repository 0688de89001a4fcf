"""Dialogues in memory as samples: what `gatt.GattTrainer` takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from gatt.data.dialogue import Dialogue, parse_messages
from gatt.data.instruction import Instruction
from gatt.data.sample import GattSample, TurnTarget
from gatt.errors import DataError

OWN: Final = "own"
"""Family of an instruction that is no entry of a catalogue."""


def samples_of(rows: Iterable[Any]) -> Iterator[GattSample]:
    """Yield the sample of each row, in order.

    A row is a sample as `gatt synth` writes it, or has `messages` in chat form. The system message is the
    instruction; without one the dialogue is a plain one. `targets`, a text or None for each user message, are
    the replies to learn, and the messages' own replies are then the history only; without `targets` each of
    these replies is learned as well. `id` may name the row.

    Raises:
        DataError: a row that is none of these, with its number from 1.
    """
    for number, row in enumerate(rows, start=1):
        try:
            yield row if isinstance(row, GattSample) else _sample(number, row)
        except DataError as error:
            raise DataError(f"row {number}: {error}") from None


def _sample(number: int, row: Any) -> GattSample:
    if not isinstance(row, Mapping):
        raise DataError(f"{type(row).__name__}: expected an object with 'messages'")
    if "dialogue" in row:
        return GattSample.from_dict(row)
    if "messages" not in row:
        raise DataError(f"no 'messages': found {', '.join(map(repr, row)) or 'nothing'}")
    dialogue = Dialogue(str(row.get("id") or f"row-{number}"), parse_messages(row["messages"]))
    instruction = None
    if dialogue.has_system:
        text = dialogue.messages[0].content
        instruction = Instruction(
            id=OWN, text=text, wording="verbose", entries=(OWN,), families=(OWN,), split="train",
            verifiers=(),
        )  # fmt: skip
        dialogue = replace(dialogue, messages=dialogue.messages[1:])
    targets = row.get("targets")
    texts = dialogue.replies if targets is None else targets
    is_list = isinstance(texts, list | tuple) and all(isinstance(t, str | None) for t in texts)
    if not is_list or len(texts) > dialogue.num_turns:
        raise DataError(
            f"'targets' is {targets!r}: expected a list of a text or None for each of "
            f"{dialogue.num_turns} user messages"
        )
    missing = [None] * (dialogue.num_turns - len(texts))
    turns = enumerate([*texts, *missing], start=1)
    return GattSample(
        dialogue.id,
        dialogue,
        instruction,
        tuple(
            TurnTarget(turn, text or None, None if text else "none given") for turn, text in turns
        ),
    )
