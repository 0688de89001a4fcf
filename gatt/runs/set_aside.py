"""What a run no longer needs stays beside it under another name. No torch here."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from gatt.runs.atomic_file import atomic_stream, refused_write


def free_name(path: Path) -> Path:
    """Return the first of `NAME.before`, `NAME.before_2`, … that is free; a file keeps its ending."""
    stem, ending = (path.name, "") if path.is_dir() else (path.stem, path.suffix)
    names = (f"{stem}.before{f'_{num}' if num > 1 else ''}{ending}" for num in count(1))
    return next(path.with_name(name) for name in names if not path.with_name(name).exists())


def copy_aside(path: Path) -> Path:
    """Copy a file to its `free_name`, and return that.

    Raises:
        StoreError: it cannot be written.
    """
    copy = free_name(path)
    try:
        shutil.copyfile(path, copy)
    except OSError as error:
        raise refused_write(copy, error) from error
    return copy


def move_aside(folder: Path) -> Path:
    """Move a folder to its `free_name`, and return that.

    Raises:
        StoreError: it cannot be moved.
    """
    place = free_name(folder)
    try:
        return folder.rename(place)
    except OSError as error:
        raise refused_write(place, error) from error


def keep_lines(path: Path, keeps: Callable[[dict[str, Any]], bool]) -> None:
    """Leave those lines of a JSONL file that are to stay; a torn last one goes.

    Raises:
        StoreError: it cannot be written.
    """
    with path.open("rb") as lines, atomic_stream(path) as stream:
        whole = (line for line in lines if line.endswith(b"\n"))
        stream.writelines(line for line in whole if keeps(json.loads(line)))
