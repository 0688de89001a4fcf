"""Importers: files of a benchmark become lines of a case file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from gatt.errors import DataError
from gatt.runs.atomic_file import atomic_stream
from gatt.runs.input_file import refuse_compressed
from gatt.runs.suggest import did_you_mean

Line = dict[str, Any]
"""One case, with the keys of a case file."""

IMPORTERS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "persona_drift": (
        "system prompts with a probe and a function that scores it (arXiv:2402.10962)",
        ("num_turns", "seed"),
    ),
    "sysbench": (
        "system messages with five turns and a checklist a turn (arXiv:2408.10943)",
        (),
    ),
}
"""Module with a function `import_cases` -> what it reads, and the options that the function takes."""


def import_cases(name: str, path: Path, **options: int | None) -> list[Line]:
    """Return the cases that an importer makes of a local copy.

    Args:
        name: one of `IMPORTERS`.
        path: the local copy.
        options: `num_turns` (turns of a case) and `seed`; None where not given.

    Raises:
        DataError: an unknown importer, an option that it does not take, a missing path, a number of
            turns below 1, or a copy that is not of the format.
    """
    if name not in IMPORTERS:
        raise DataError(
            f"unknown benchmark {name!r}{did_you_mean(name, IMPORTERS)} (known: {', '.join(IMPORTERS)})"
        )
    if not path.exists():
        raise DataError(f"{path}: no such file or folder: expected a local copy of {name}")
    given = {option: value for option, value in options.items() if value is not None}
    if unused := [f"--{o.replace('_', '-')}" for o in given if o not in IMPORTERS[name][1]]:
        raise DataError(f"{', '.join(unused)}: {name} is imported as it is: leave it out")
    found: list[Line] = import_module(f"eval.cases.importers.{name}").import_cases(path, **given)
    return found


def find_file(path: Path, name: str, inner: str = "") -> Path:
    """Return a benchmark's file: `path` itself, or the file of that name in it or in its folder `inner`.

    Raises:
        DataError: no such file.
    """
    if not path.is_dir():
        return path
    for file in (path / inner / name, path / name):
        if file.exists():
            return file
    raise DataError(f"{path}: no {name} in it: expected a copy of the benchmark's repository")


def write_cases(path: Path, cases: Sequence[Line]) -> None:
    """Write a case file, whole or not at all.

    Raises:
        StoreError: the file cannot be written, or its name says that it is compressed.
    """
    refuse_compressed(path)
    with atomic_stream(path) as stream:
        for case in cases:
            stream.write(json.dumps(case, ensure_ascii=False).encode() + b"\n")
