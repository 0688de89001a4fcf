"""Result files as the report reads them: objects of a schema, and lists of records beside the curves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gatt.errors import DataError
from gatt.runs.input_file import read_json

LISTS = ("differences", "events", "summaries", "agreement", "limits", "coverage")
"""Lists of a `results.json`: all are optional, none may be broken."""


class Record(dict[str, Any]):
    """An object of a result file; a key that it lacks is an error in one line."""

    def __missing__(self, key: str) -> Any:
        raise DataError(f"results: no {key!r} beside {', '.join(self)}: make them again")


def read_object(path: Path, schema: int, command: str) -> Record:
    """Return the JSON object of a result file.

    Args:
        path: of the file.
        schema: its expected version.
        command: what writes such files, for messages.

    Raises:
        FileNotFoundError: no such file.
        DataError: unreadable, no JSON object, or of another schema.
    """
    try:
        found = read_json(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise DataError(f"{path}: no JSON ({error}): expected what `{command}` wrote") from None
    version = found.get("schema") if isinstance(found, Mapping) else type(found).__name__
    if version != schema:
        raise DataError(
            f"{path}: schema is {version!r}: expected {schema}, make it again with `{command}`"
        )
    return Record(found)


def records(results: Mapping[str, Any], name: str) -> list[Record]:
    """Return one of `LISTS`, empty where a run has none.

    Raises:
        DataError: no list of objects.
    """
    found = results.get(name) or []
    if not isinstance(found, list) or not all(isinstance(record, Mapping) for record in found):
        raise DataError(f"results: {name!r} is {found!r:.60}: expected a list of objects")
    return [Record(record) for record in found]
