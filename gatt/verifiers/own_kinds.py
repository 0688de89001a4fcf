"""Verifier kinds that do not come with this package: of other packages, and of files of the user's own.

A package names its kinds as entry points of the group `gatt.verifiers`. A file is named by a
catalogue (`verifiers: [path.py]`): it is code that is run, so nothing else may name one, no sample,
case or suite. What a file defines stays known to this process; workers elsewhere are sent its text.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast

from gatt.errors import VerifierError
from gatt.runs.input_file import read_text
from gatt.verifiers.base import Examples, Verdict, Verifier
from gatt.verifiers.rule import Rule, quote

GROUP: Final = "gatt.verifiers"
"""Group of entry points, each named as its kind: `rhymes = "my_package.rhymes:Rhymes"`."""
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
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


@dataclass(frozen=True)
class _OfFile:
    cls: type[Verifier]
    file: KindFile


_of_files: dict[str, _OfFile] = {}
"""Kind -> its class, of the files that this process has run."""


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

    Args:
        files: read before.
        shipped: kinds whose names are taken.

    Returns:
        Whether anything was run.

    Raises:
        VerifierError: a file fails, defines no verifier or an unusable one, or a kind that exists.
    """
    num_run = 0
    for file in files:
        if any(known.file.source == file.source for known in _of_files.values()):
            continue
        classes = _classes(file)
        for cls in classes:
            _refuse_taken(cls.kind, file, shipped)
        for kind in [kind for kind, known in _of_files.items() if known.file.path == file.path]:
            # The file was edited since.
            del _of_files[kind]
        _of_files.update({cls.kind: _OfFile(cls, file) for cls in classes})
        num_run += 1
    return num_run > 0


def known_files() -> tuple[KindFile, ...]:
    """Return the files that this process has run, for processes on other machines."""
    return tuple({known.file.path: known.file for known in _of_files.values()}.values())


def own_kinds() -> tuple[str, ...]:
    """Return the kinds of packages and of the files that this process has run."""
    return tuple(sorted({*_entry_points(), *_of_files}))


def own_class(kind: str) -> type[Verifier] | None:
    """Return the class of a kind of a file or package; None if neither has it.

    Raises:
        VerifierError: the package's class cannot be loaded or used.
    """
    if kind in _of_files:
        return _of_files[kind].cls
    points = _entry_points().get(kind, ())
    if not points:
        return None
    where = f"verifier {kind!r} of {' and '.join(map(_origin, points))}"
    if len(points) > 1:
        raise VerifierError(f"{where}: expected one: uninstall the others")
    try:
        cls = points[0].load()
    except Exception as error:
        raise VerifierError(f"{where}: cannot be loaded: {_one_line(error)}") from None
    _refuse_unusable(cls, where)
    if cls.kind != kind:
        raise VerifierError(f"{where}: its class has kind {cls.kind!r}: expected the same name")
    found: type[Verifier] = cls
    return found


def origin(kind: str) -> str:
    """Return where a kind comes from, for messages: its file or its package; "" if it is shipped."""
    if kind in _of_files:
        return _of_files[kind].file.path
    return " and ".join(map(_origin, _entry_points().get(kind, ())))


def guarded(verifier: Verifier) -> Verifier:
    """Return a verifier that is not shipped so that what it raises is one line that names it."""
    return cast(Verifier, _Guarded(verifier))


class _Guarded:
    def __init__(self, verifier: Verifier) -> None:
        self.kind, self.version, self.examples = verifier.kind, verifier.version, verifier.examples
        self._verifier = verifier

    def check(self, reply: str) -> Verdict:
        """Return the verdict on one reply.

        Raises:
            VerifierError: the verifier fails, or returns something else.
        """
        where = f"verifier {self.kind!r} of {origin(self.kind)}"
        try:
            verdict = self._verifier.check(reply)
        except Exception as error:
            raise VerifierError(f"{where}: fails on {quote(reply)}: {_one_line(error)}") from error
        if not isinstance(verdict, Verdict):
            raise VerifierError(
                f"{where}: returns {type(verdict).__name__}: expected self.passed(…), self.failed(…) or "
                "self.undecided(…)"
            )
        return verdict


def own_version(kind: str) -> str | None:
    """Return what a kind's verdicts depend on: its version, and the text of its file; None if shipped."""
    cls = own_class(kind)
    if cls is None:
        return None
    known = _of_files.get(kind)
    return f"{cls.version} ({known.file.digest})" if known else str(cls.version)


@lru_cache(maxsize=1)
def _entry_points() -> Mapping[str, Sequence[EntryPoint]]:
    found: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        found.setdefault(point.name, []).append(point)
    return found


def _origin(point: EntryPoint) -> str:
    return f"package {point.dist.name}" if point.dist else point.value


def _classes(file: KindFile) -> list[type[Verifier]]:
    """Run a file and return the verifiers that it defines."""
    module = ModuleType(f"gatt_verifiers_{file.digest}")
    module.__file__ = file.path
    # Where dataclasses and pickle look for it.
    sys.modules[module.__name__] = module
    try:
        exec(compile(file.source, file.path, "exec"), module.__dict__)
    except Exception as error:
        del sys.modules[module.__name__]
        raise VerifierError(f"{file.path}: cannot be run: {_one_line(error)}") from None
    found: list[type[Verifier]] = [
        cls
        for cls in vars(module).values()
        if isinstance(cls, type) and cls.__module__ == module.__name__ and "kind" in vars(cls)
    ]
    if not found:
        raise VerifierError(
            f"{file.path}: no verifier: expected a class with 'kind', 'version' and 'examples', as "
            "docs/reference/verifiers.md shows"
        )
    for number, cls in enumerate(found):
        _refuse_unusable(cls, f"{file.path}: class {cls.__name__}")
        if cls.kind in {other.kind for other in found[:number]}:
            raise VerifierError(f"{file.path}: kind {cls.kind!r} stands twice: expected it once")
    return found


def _refuse_unusable(cls: Any, where: str) -> None:
    kind, version = getattr(cls, "kind", None), getattr(cls, "version", None)
    examples = getattr(cls, "examples", None)
    if not isinstance(cls, type) or not issubclass(cls, Rule):
        raise VerifierError(f"{where}: expected a class derived from gatt.verifiers.rule.Rule")
    if inspect.isabstract(cls):
        missing = ", ".join(sorted(cls.__abstractmethods__))
        raise VerifierError(f"{where}: does not define {missing}: expected the whole rule")
    if not isinstance(kind, str) or not _NAME.fullmatch(kind):
        raise VerifierError(f"{where}: 'kind' is {kind!r}: expected a name such as 'end_rhyme'")
    if type(version) is not int or version < 1:
        raise VerifierError(f"{where}: 'version' is {version!r}: expected a whole number from 1 up")
    if (
        not isinstance(examples, tuple)
        or not examples
        or not all(isinstance(one, Examples) for one in examples)
    ):
        raise VerifierError(
            f"{where}: 'examples' is {examples!r}: expected a tuple of gatt.verifiers.Examples"
        )


def _refuse_taken(kind: str, file: KindFile, shipped: Iterable[str]) -> None:
    if kind in shipped:
        raise VerifierError(f"{file.path}: kind {kind!r} is shipped: give yours another name")
    known = _of_files.get(kind)
    if (known and known.file.path != file.path) or kind in _entry_points():
        raise VerifierError(
            f"{file.path}: kind {kind!r} already comes from {origin(kind)}: give one another name"
        )


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
