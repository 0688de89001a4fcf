"""The table of importers, and what one is asked."""

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
    """Whether cases are made of a benchmark's tasks and constraints, and not of its own test sets."""
    num_turns: int | None = None
    """Most turns of a case; None: as the benchmark has it."""
    seed: int | None = None
    """Of what is drawn; None: 0."""


def _sysbench(request: Request) -> Imported:
    from eval.cases.importers.sysbench import import_sysbench

    _refuse(request, "compose num-turns seed", "sysbench is taken as it is")
    return import_sysbench(request.path)


def _sequor(request: Request) -> Imported:
    from eval.cases.importers.sequor import import_testsets
    from eval.cases.importers.sequor_tasks import compose_cases

    if request.is_composed:
        return compose_cases(request.path, request.num_turns, request.seed or 0)
    _refuse(request, "seed", "the test sets are taken as they are, so add --compose")
    return import_testsets(request.path, request.num_turns)


def _persona_drift(request: Request) -> Imported:
    from eval.cases.importers.persona_drift import import_persona_drift

    _refuse(request, "compose", "persona_drift has nothing to compose")
    return import_persona_drift(request.path, request.num_turns, request.seed or 0)


IMPORTERS: Mapping[str, tuple[Callable[[Request], Imported], str]] = {
    "persona_drift": (
        _persona_drift,
        "system prompts with a probe and a function that scores it (arXiv:2402.10962)",
    ),
    "sequor": (_sequor, "120 to 210 turns under constraints that come and go (arXiv:2605.06353)"),
    "sysbench": (
        _sysbench,
        "system messages with five turns and a checklist a turn (arXiv:2408.10943)",
    ),
}
"""Name -> importer and what it reads. A new one is one file, one line here, one test."""


def import_cases(name: str, request: Request) -> Imported:
    """Return what an importer makes of a local copy.

    Raises:
        DataError: no such importer, no such path, or a copy that is not of the
            format.
    """
    if name not in IMPORTERS:
        raise DataError(
            f"unknown benchmark {name!r}{did_you_mean(name, IMPORTERS)} (known: {', '.join(IMPORTERS)})"
        )
    if not request.path.exists():
        raise DataError(f"{request.path}: no such file or folder: expected a local copy of {name}")
    return IMPORTERS[name][0](request)


def _refuse(request: Request, names: str, why: str) -> None:
    """Refuse flags that an import has no use for.

    Raises:
        DataError: names those that were given.
    """
    given = {
        "compose": request.is_composed,
        "num-turns": request.num_turns is not None,
        "seed": request.seed is not None,
    }
    if found := [f"--{name}" for name in names.split() if given[name]]:
        raise DataError(f"{', '.join(found)}: {why}")
