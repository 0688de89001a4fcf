"""The table of importers, and the request that one gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from eval.cases.importers.imported import Imported
from gatt.errors import DataError
from gatt.runs.suggest import did_you_mean


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line says about an import."""

    path: Path
    is_composed: bool = False
    """Whether cases are made of a benchmark's tasks and constraints, and not of its test sets."""
    num_turns: int | None = None
    """Most turns of a case; None: the benchmark's own number."""
    seed: int | None = None
    """Of what is drawn; None: 0."""

    def refuse(self, flags: str, why: str) -> None:
        """Refuse flags that an import does not use.

        Raises:
            DataError: names the flags that were given.
        """
        given = {
            "compose": self.is_composed,
            "num-turns": self.num_turns is not None,
            "seed": self.seed is not None,
        }
        if found := [f"--{name}" for name in flags.split() if given[name]]:
            raise DataError(f"{', '.join(found)}: {why}")


def _sysbench(request: Request) -> Imported:
    from eval.cases.importers.sysbench import import_sysbench

    request.refuse("compose num-turns seed", "sysbench is imported as it is: leave them out")
    return import_sysbench(request.path)


def _sequor(request: Request) -> Imported:
    from eval.cases.importers.sequor import import_testsets
    from eval.cases.importers.sequor_tasks import compose_cases

    if request.is_composed:
        return compose_cases(request.path, request.num_turns, request.seed or 0)
    request.refuse("seed", "the test sets are imported as they are: leave it out, or add --compose")
    return import_testsets(request.path, request.num_turns)


def _persona_drift(request: Request) -> Imported:
    from eval.cases.importers.persona_drift import import_persona_drift

    request.refuse("compose", "persona_drift has nothing to compose: leave it out")
    return import_persona_drift(request.path, request.num_turns, request.seed or 0)


IMPORTERS: Mapping[str, tuple[Callable[[Request], Imported], str]] = {
    "persona_drift": (
        _persona_drift,
        "system prompts with a probe and a function that scores it (arXiv:2402.10962)",
    ),
    "sequor": (
        _sequor,
        "120 to 210 turns under constraints that are added and replaced (arXiv:2605.06353)",
    ),
    "sysbench": (
        _sysbench,
        "system messages with five turns and a checklist a turn (arXiv:2408.10943)",
    ),
}
"""Name -> importer and what it reads. A new one is one file, one line here, one test."""


def import_cases(name: str, request: Request) -> Imported:
    """Return the cases that an importer makes of a local copy.

    Raises:
        DataError: an unknown importer, a missing path, a number of turns below 1, or a copy that is
            not of the format.
    """
    if name not in IMPORTERS:
        raise DataError(
            f"unknown benchmark {name!r}{did_you_mean(name, IMPORTERS)} (known: {', '.join(IMPORTERS)})"
        )
    if not request.path.exists():
        raise DataError(f"{request.path}: no such file or folder: expected a local copy of {name}")
    if request.num_turns is not None and request.num_turns < 1:
        raise DataError(f"--num-turns is {request.num_turns}: expected at least 1")
    return IMPORTERS[name][0](request)
