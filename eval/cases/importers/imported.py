"""Importers: files of a benchmark become lines of a case file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gatt.errors import DataError
from gatt.runs.atomic_file import atomic_stream
from gatt.runs.input_file import refuse_compressed
from gatt.runs.suggest import did_you_mean
from gatt.runs.typed import ShapeError, typed
from gatt.verifiers.graded.judge import JUDGE
from gatt.verifiers.spec import VerifierSpec

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Constraint:
    """One thing that a benchmark asks of replies, and who decides it here."""

    id: str
    text: str
    rules: tuple[VerifierSpec, ...] = ()
    """Verifiers that decide the whole constraint; none: the judge decides it, with the text as rubric."""

    @property
    def verifiers(self) -> list[dict[str, Any]]:
        """The rules or the judge, as a case file holds them."""
        specs = self.rules or (VerifierSpec(JUDGE, {"rubric": self.text}),)
        return [{"kind": spec.kind, **spec.params} for spec in specs]

    def as_dict(self) -> dict[str, str]:
        """Return the constraint as the coverage table takes it."""
        return {"id": self.id, "text": self.text, "by": "rules" if self.rules else "judge"}


@dataclass(frozen=True, slots=True)
class ImportedCase:
    """One case."""

    line: Mapping[str, Any]
    """The keys of a case file, except `constraints`."""
    asked: Sequence[Constraint]
    """The constraints of all turns in order; one may stand there several times."""

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints of all turns, each once."""
        return tuple({c.id: c for c in self.asked}.values())

    def as_dict(self) -> dict[str, Any]:
        """Return the case as one line of a case file."""
        return {**self.line, "constraints": [c.as_dict() for c in self.constraints]}


@dataclass(frozen=True, slots=True)
class Imported:
    """The cases of one import."""

    cases: tuple[ImportedCase, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)
    """How often something of the benchmark is in no case, by a description of it."""

    @property
    def num_turns(self) -> int:
        """Number of user messages of all cases."""
        roles = [m["role"] for case in self.cases for m in case.line.get("messages", ())]
        return roles.count("user") + sum(len(c.line.get("user_turns", ())) for c in self.cases)

    def count_by_kind(self) -> dict[str, int]:
        """Return how many constraints each verifier kind decides, then the judge.

        A constraint of two kinds counts for both. A constraint of two cases counts twice.
        """
        constraints = [c for case in self.cases for c in case.constraints]
        kinds = Counter(kind for c in constraints for kind in {spec.kind for spec in c.rules})
        return {**dict(sorted(kinds.items())), "judge": sum(not c.rules for c in constraints)}


def instruction(
    text: str, family: str, asked: Iterable[Constraint], value: str = ""
) -> dict[str, Any]:
    """Return an instruction as a case file holds it."""
    named = {"value": value} if value else {}
    return {"text": text, "family": family, **named, "verifiers": verifiers_of(asked)}


def verifiers_of(asked: Iterable[Constraint]) -> list[dict[str, Any]]:
    """Return the verifiers of constraints as a case file holds them."""
    return [verifier for constraint in asked for verifier in constraint.verifiers]


def find_files(path: Path, pattern: str, inner: Sequence[str] = ()) -> tuple[Path, list[Path]]:
    """Return the folder of a benchmark's files, and the files.

    Args:
        path: one file, or a folder with files.
        pattern: of the files' names.
        inner: folders inside `path` to look into before `path` itself.

    Raises:
        DataError: no such file.
    """
    if not path.is_dir():
        return path.parent, [path]
    for folder in (*(path / name for name in inner), path):
        if files := sorted(folder.glob(pattern)):
            return folder, files
    raise DataError(f"{path}: no {pattern} in it: expected a copy of the benchmark's repository")


def record(kind: type[T], raw: object, where: str) -> T:
    """Return an object of a benchmark's file as a dataclass; keys that the class lacks are ignored.

    Raises:
        DataError: with the place: no object, a missing key, or a value of another type.
    """
    if isinstance(raw, Mapping):
        raw = {f.name: raw[f.name] for f in fields(kind) if f.name in raw}  # type: ignore[arg-type]
    try:
        return typed(kind, raw)
    except ShapeError as error:
        raise DataError(f"{where}: {error}") from None


def write_cases(path: Path, cases: Sequence[ImportedCase]) -> None:
    """Write a case file, whole or not at all.

    Raises:
        StoreError: the file cannot be written, or its name says that it is compressed.
    """
    refuse_compressed(path)
    with atomic_stream(path) as stream:
        for case in cases:
            stream.write(json.dumps(case.as_dict(), ensure_ascii=False).encode() + b"\n")


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
