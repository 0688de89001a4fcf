"""Verifier kinds that do not come with this package: of files of the user's own.

A file is named by a catalogue (`verifiers: [path.py]`): it is code that is run, so nothing else may name
one, no sample, case or suite. What a file defines stays known to this process; workers elsewhere are sent
its text.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from gatt.errors import VerifierError
from gatt.runs.input_file import read_text
from gatt.verifiers.base import Examples
from gatt.verifiers.rule import Rule, one_line

_MOST_BYTES: Final = 2**20
_DIGEST_CHARACTERS: Final = 12


@dataclass(frozen=True)
class KindFile:
    """A Python file that defines kinds, with its text: it can be run where the file is not."""

    path: str
    source: str

    @property
    def digest(self) -> str:
        """What tells two versions of a file apart."""
        return hashlib.sha256(self.source.encode()).hexdigest()[:_DIGEST_CHARACTERS]


_of_files: dict[str, tuple[type[Rule], KindFile]] = {}
"""Kind -> its class and file, of the files that this process has run."""


def read_kind_file(path: Path) -> KindFile:
    """Return a Python file without running it.

    Raises:
        VerifierError: it is no Python file, or cannot be read.
    """
    if path.suffix != ".py" or not path.is_file():
        raise VerifierError(f"{path}: expected a Python file that defines verifiers")
    try:
        return KindFile(str(path.resolve()), read_text(path, most_bytes=_MOST_BYTES))
    except (OSError, UnicodeDecodeError) as error:
        raise VerifierError(f"{path}: cannot be read: {error}: expected Python in UTF-8") from None


def run_kind_files(files: Iterable[KindFile], shipped: Iterable[str]) -> bool:
    """Run files and make their kinds known to this process; one that was run before is not run again.

    Returns whether anything was run; `shipped` are kinds whose names are taken.

    Raises:
        VerifierError: a file fails, defines no verifier or an unusable one, or a kind that exists.
    """
    new = [
        file for file in files if file.source not in {earlier.source for earlier in known_files()}
    ]
    for file in new:
        classes = {cls.kind: (cls, file) for cls in _classes(file)}
        for kind in classes:
            if kind in shipped or origin(kind) not in ("", file.path):
                raise VerifierError(
                    f"{file.path}: kind {kind!r} is {origin(kind) or 'shipped'}: give this one another name"
                )
        for kind in [kind for kind, (_, of) in _of_files.items() if of.path == file.path]:
            # The file was edited since.
            del _of_files[kind]
        _of_files.update(classes)
    return bool(new)


def known_files() -> tuple[KindFile, ...]:
    """Return the files that this process has run, for processes on other machines."""
    return tuple({file.path: file for _, file in _of_files.values()}.values())


def own_kinds() -> tuple[str, ...]:
    """Return the kinds of the files that this process has run."""
    return tuple(sorted(_of_files))


def own_class(kind: str) -> type[Rule] | None:
    """Return the class of a kind of a file; None if no file has it."""
    return _of_files[kind][0] if kind in _of_files else None


def origin(kind: str) -> str:
    """Return the file that a kind comes from, for messages; "" if it is shipped."""
    return _of_files[kind][1].path if kind in _of_files else ""


def own_version(kind: str) -> str | None:
    """Return what a kind's verdicts depend on: its version, and the text of its file; None if shipped."""
    if kind not in _of_files:
        return None
    cls, file = _of_files[kind]
    return f"{cls.version} ({file.digest})"


def _classes(file: KindFile) -> list[type[Rule]]:
    """Run a file and return the verifiers that it defines."""
    module = ModuleType(f"gatt_verifiers_{file.digest}")
    module.__file__ = file.path
    # Where dataclasses and pickle look for it.
    sys.modules[module.__name__] = module
    try:
        exec(compile(file.source, file.path, "exec"), module.__dict__)
    except Exception as error:
        del sys.modules[module.__name__]
        raise VerifierError(f"{file.path}: cannot be run: {one_line(error)}") from None
    classes: list[type[Rule]] = [
        cls
        for cls in vars(module).values()
        if isinstance(cls, type) and cls.__module__ == module.__name__ and "kind" in vars(cls)
    ]
    if not classes:
        raise VerifierError(
            f"{file.path}: no verifier: expected a class with 'kind', 'version' and 'examples', as "
            "docs/reference/verifiers.md shows"
        )
    for cls in classes:
        _refuse_unusable(cls, f"{file.path}: class {cls.__name__}")
    return classes


def _refuse_unusable(cls: Any, where: str) -> None:
    if not isinstance(cls, type) or not issubclass(cls, Rule):
        raise VerifierError(f"{where}: expected a class derived from gatt.verifiers.rule.Rule")
    if inspect.isabstract(cls):
        raise VerifierError(f"{where}: does not define 'decide': expected the whole rule")
    kind = getattr(cls, "kind", None)
    for name, value, is_right in (
        ("kind", kind, re.fullmatch(r"[a-z][a-z0-9_]*", str(kind))),
        ("version", cls.version, type(cls.version) is int),
        ("examples", cls.examples, {Examples} == {*map(type, cls.examples)}),
    ):
        if not is_right:
            raise VerifierError(
                f"{where}: {name!r} is {value!r}: expected a name such as 'end_rhyme', a whole number as "
                "the version, and a tuple of gatt.verifiers.Examples"
            )
