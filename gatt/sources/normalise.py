"""Rows of other people's data brought into the form of a dialogue; every change has a reason."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from gatt.runs.input_file import parse_json
from gatt.sources.message import (
    PAIR_KEYS,
    ROLE_KEYS,
    TEXT_KEYS,
    Changes,
    LostRowError,
    filled_media,
    spoken,
)
from gatt.sources.reasons import (
    BLANK_MESSAGE,
    EMPTY_SYSTEM,
    FORM_CHANGED,
    HALF_CHARACTER,
    LATER_SYSTEM,
    MEDIA,
    MERGED,
    NO_EXCHANGE,
    NO_MESSAGES,
    ODD_ID,
    ONE_EXCHANGE,
    ONE_MESSAGE,
    OPENING_CUT,
    SYSTEM_FIELD,
    UNKNOWN_FORM,
)

COLUMNS: Final = ("messages", "conversations", "conversation", "dialogue", "dialog")
"""Where a row's messages may stand; the first that holds something is taken."""
ID_KEYS: Final = ("id", "uuid", "conversation_id")
"""Where a row's id may stand; the first that holds something is taken."""
SYSTEM_KEYS: Final = ("system", "system_prompt", "system_message")
EXPECT: Final = "expect"
"""Field of a user message that says what the reply must hold: passed on as it is, but for null fields."""


class Normalised(NamedTuple):
    """A row in the form of a dialogue."""

    identity: str | None
    """Its own id, if it has one."""
    messages: list[dict[str, Any]]
    """`role` and `content`: a system message or none, then user and assistant in turn; the last turn
    may be open."""
    changes: Changes


def normalise(row: object, column: str | None = None) -> Normalised:
    """Return a row in the form of a dialogue, with what was changed.

    Neighbouring messages of one speaker become one, with a new line between them, as in
    `gatt.sources.chitchat`. Blank messages, what the assistant says before the user, and system messages after
    the first other one are left out. A `system` field becomes the system message.

    `row` is an object, or the bare list of its messages. They stand in `column`; None takes the first of
    `COLUMNS` that holds something.

    Raises:
        LostRowError: no dialogue can be made of it, or one of no use here (images, tools).
    """
    if isinstance(row, list):
        row = {column or COLUMNS[0]: row}
    if not isinstance(row, Mapping):
        raise LostRowError(UNKNOWN_FORM, f"found {type(row).__name__}, expected an object")
    changes: Changes = {}
    identity = _identity(row)
    if media := filled_media(row):
        raise LostRowError(MEDIA, f"field {media!r}")
    messages: list[dict[str, Any]] = []
    turns = _turns(row, column, changes)
    field, system = _system_field(row)
    if field is not None:
        messages.append({"role": "system", "content": system})
        changes[SYSTEM_FIELD] = repr(field)
    for index, turn in enumerate(turns, start=1):
        where = f"message {index}"
        for role, text in spoken(turn, where, changes):
            expect = _without_nulls(turn.get(EXPECT)) if role == "user" else None
            _append(messages, role, text, expect, where, changes)
    if not any(message["role"] == "user" for message in messages):
        raise LostRowError(NO_EXCHANGE, "no message of the user")
    return Normalised(identity, messages, changes)


def _append(
    messages: list[dict[str, Any]],
    role: str,
    text: str,
    expect: object,
    where: str,
    changes: Changes,
) -> None:
    """Add a message, or note why it is not one of its own."""
    last = messages[-1] if messages else None
    if not _is_whole(text):
        raise LostRowError(HALF_CHARACTER, where)
    # Also one of invisible characters alone.
    if not any(sign.isprintable() and sign != " " for sign in text):
        changes.setdefault(EMPTY_SYSTEM if role == "system" else BLANK_MESSAGE, where)
    elif role == "system" and last is not None and last["role"] != "system":
        changes.setdefault(LATER_SYSTEM, where)
    elif role == "assistant" and (last is None or last["role"] == "system"):
        changes.setdefault(OPENING_CUT, where)
    elif last is not None and last["role"] == role:
        # A `system` field often repeats the system message.
        if role != "system" or text.strip() != last["content"].strip():
            last["content"] = f"{last['content']}\n{text}"
            changes.setdefault(MERGED, where)
        if expect is not None:
            last[EXPECT] = expect
    else:
        messages.append({"role": role, "content": text})
        if expect is not None:
            messages[-1][EXPECT] = expect


def _without_nulls(expect: object) -> object:
    """Return an object without the null fields that a table adds; None where it held nothing else."""
    if not isinstance(expect, Mapping) or None not in expect.values():
        return expect
    return {key: value for key, value in expect.items() if value is not None} or None


def _identity(row: Mapping[Any, Any]) -> str | None:
    for key in ID_KEYS:
        value = row.get(key)
        if value is None or (isinstance(value, str) and not value.strip()):
            continue
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise LostRowError(ODD_ID, f"{key!r} is {type(value).__name__}")
        if not _is_whole(str(value)):
            raise LostRowError(HALF_CHARACTER, repr(key))
        return str(value)
    return None


def _is_whole(text: str) -> bool:
    """Whether no half of an escaped pair stands in a text, which JSON allows and UTF-8 does not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _system_field(row: Mapping[Any, Any]) -> tuple[str | None, str]:
    for key in SYSTEM_KEYS:
        value = row.get(key)
        if isinstance(value, str) and value.strip():
            return key, value
    return None, ""


def _turns(row: Mapping[Any, Any], column: str | None, changes: Changes) -> list[Any]:
    """Return the messages of a row as a list.

    Raises:
        LostRowError: they are missing, or in no known form.
    """
    columns = (column,) if column is not None else COLUMNS
    there = [name for name in columns if name in row]
    if not there:
        raise _missing(row, columns)
    name = next((name for name in there if row[name] not in (None, "", [], {})), None)
    if name is None:
        raise LostRowError(NO_EXCHANGE, f"{there[0]!r} is empty")
    turns = row[name]
    if isinstance(turns, str):
        turns = _from_text(turns)
        changes.setdefault(FORM_CHANGED, f"{name!r} is a text")
    if isinstance(turns, Mapping) and (inner := [key for key in COLUMNS if key in turns]):
        turns = turns[inner[0]]
        changes.setdefault(FORM_CHANGED, f"{name!r} is an object with {inner[0]!r}")
    if isinstance(turns, Mapping):
        turns = _from_columns(turns)
        changes.setdefault(FORM_CHANGED, f"{name!r} is an object of lists")
    while isinstance(turns, list) and len(turns) == 1 and isinstance(turns[0], list):
        turns = turns[0]
        changes.setdefault(FORM_CHANGED, f"{name!r} is a list in a list")
    if not isinstance(turns, list):
        raise LostRowError(UNKNOWN_FORM, f"{name!r} is {type(row[name]).__name__}, expected a list")
    return turns


def _missing(row: Mapping[Any, Any], columns: tuple[str, ...]) -> LostRowError:
    keys = [str(key) for key in row]
    shown = f"found keys: {', '.join(keys)[:120] or 'none'}"
    sides = {PAIR_KEYS[key.casefold()] for key in keys if key.casefold() in PAIR_KEYS}
    if len(sides) == 2:
        return LostRowError(ONE_EXCHANGE, shown)
    if {*keys} & {*ROLE_KEYS} and {*keys} & {*TEXT_KEYS}:
        return LostRowError(ONE_MESSAGE, shown)
    return LostRowError(NO_MESSAGES, f"no {' or '.join(map(repr, columns[:2]))} ({shown})")


def _from_text(text: str) -> object:
    """Return the value of a text in JSON or in Python's form, which tables often hold; None for neither."""
    try:
        return parse_json(text)
    except json.JSONDecodeError:
        pass
    try:
        value: object = ast.literal_eval(text.strip())
        return value
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _from_columns(turns: Mapping[Any, Any]) -> object:
    """Return the rows of an object of lists, which `datasets` makes of a sequence; None for another one."""
    lists = list(turns.values())
    if not all(isinstance(column, list) and len(column) == len(lists[0]) for column in lists):
        return None
    return [dict(zip(turns, values, strict=True)) for values in zip(*lists, strict=True)]
