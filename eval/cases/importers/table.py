"""The table of importers."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from gatt.errors import DataError
from gatt.runs.suggest import did_you_mean

if TYPE_CHECKING:
    from eval.cases.importers.imported import Imported

IMPORTERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "persona_drift": (
        "system prompts with a probe and a function that scores it (arXiv:2402.10962)",
        ("num_turns", "seed"),
    ),
    "sequor": (
        "120 to 210 turns under constraints that are added and replaced (arXiv:2605.06353)",
        ("num_turns",),
    ),
    "sysbench": (
        "system messages with five turns and a checklist a turn (arXiv:2408.10943)",
        (),
    ),
}
"""Module with a function `import_cases` -> what it reads, and the options that the function takes."""


def import_cases(name: str, path: Path, **options: int | None) -> Imported:
    """Return the cases that an importer makes of a local copy.

    Args:
        name: one of `IMPORTERS`.
        path: the local copy.
        options: `num_turns` (most turns of a case) and `seed`; None where not given.

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
    if given.get("num_turns", 1) < 1:
        raise DataError(f"--num-turns is {given['num_turns']}: expected at least 1")
    found: Imported = import_module(f"eval.cases.importers.{name}").import_cases(path, **given)
    return found
