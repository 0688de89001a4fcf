"""Reading the files of benchmarks: every mistake in them is one line with its place."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from gatt.data.dialogue import Message
from gatt.errors import DataError
from gatt.runs.input_file import read_json
from gatt.runs.store import parsed_records
from gatt.runs.suggest import did_you_mean

T = TypeVar("T")

_NAMES: Mapping[type, str] = {str: "a string", list: "a list", dict: "an object"}


def read_array(path: Path, of: str) -> list[Any]:
    """Return the values of a file that is one JSON array, not empty.

    Args:
        path: the file.
        of: what the array holds, for errors ("SysBench sessions").

    Raises:
        DataError: the file cannot be read, is broken, empty, or something else.
    """
    try:
        value = read_json(path)
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}: check the path") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: no UTF-8 text at byte {error.start}: expected JSON") from None
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path} line {error.lineno}, column {error.colno}: broken JSON ({error.msg}): "
            f"expected one array of {of}"
        ) from None
    if not isinstance(value, list):
        raise DataError(f"{path}: found {type(value).__name__}: expected one array of {of}")
    if not value:
        raise DataError(f"{path}: an empty array: expected {of}")
    return value


def read_rows(path: Path, of: str) -> list[tuple[int, dict[str, Any]]]:
    """Return line number and object of each row of a JSONL file, not empty.

    Raises:
        DataError: the file cannot be read, has a broken line, or no row.
    """
    rows = list(parsed_records(path, lambda _, row: row, is_whole=True))
    if not rows:
        raise DataError(f"{path}: nothing in it: expected {of}, one JSON object a line")
    return rows


def take(raw: object, key: str, kind: type[T], where: str) -> T:
    """Return the value of a key that must be there and of a type.

    Raises:
        DataError: `raw` is no object, lacks the key, or holds another type.
    """
    if not isinstance(raw, Mapping):
        raise DataError(f"{where}: found {type(raw).__name__}: expected an object with {key!r}")
    if key not in raw:
        found = ", ".join(map(str, raw)) or "none"
        raise DataError(f"{where}: no {key!r}{did_you_mean(key, raw)} (found keys: {found})")
    value = raw[key]
    if not isinstance(value, kind):
        raise DataError(
            f"{where}: {key!r} is {type(value).__name__}: expected {_NAMES.get(kind, kind.__name__)}"
        )
    return value


def take_text(raw: object, key: str, where: str) -> str:
    """Return the text of a key: not blank, and without half characters.

    Raises:
        DataError: see `take` and `check_text`.
    """
    return check_text(take(raw, key, str, where), f"{where}: {key!r}")


def check_text(text: str, where: str) -> str:
    """Return the text, if it may stand in a message.

    Raises:
        DataError: it is blank, or has half a character.
    """
    try:
        Message("user", text)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    return text


def count_unknown(raw: Iterable[str], known: Iterable[str], what: str, left: Counter[str]) -> None:
    """Count the keys that no importer reads, so that the user sees them."""
    left.update(f"key {key!r} of {what}" for key in raw if key not in set(known))
