"""Runs one command on careless or hostile input, and checks what must hold for every command."""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gatt.cli import main
from tests.support.hostile.files import RAN, Maker, filled

REFUSED = 2
PREFIX = "gatt: "
REWRITTEN = (".lock", "eval.yaml", "config.yaml")
"""Files that a resumed run writes again: its lock, and its settings, which are the same."""


@dataclass(frozen=True)
class Row:
    """One command, how it must end, and what its error line must name."""

    name: str
    command: str
    """As `filled` takes it."""
    facts: tuple[str, ...] = ()
    status: int = REFUSED
    said: str = ""
    """What is typed; a command that reads more than that fails."""
    files: Mapping[str, Maker] = field(default_factory=dict)
    """Further makers by the name of a file or of a kind."""


def refused(name: str, command: str, *facts: str, **more: Maker) -> Row:
    """Return a row that is refused with these facts; `more` are makers."""
    return Row(name, command, facts, files=more)


def accepted(name: str, command: str, said: str = "", **more: Maker) -> Row:
    """Return a row that ends well."""
    return Row(name, command, (), 0, said, more)


class NobodyTypes(io.StringIO):
    """Standard input of a command that has nothing to ask."""

    def read(self, size: int | None = -1) -> str:
        raise AssertionError("the command waits for somebody to type")

    readline = __next__ = read  # type: ignore[assignment]


def content(root: Path) -> dict[str, str]:
    """Return a digest of every file below a folder that no resumed run writes again."""
    files = (p for p in root.rglob("*") if p.is_file() and not p.name.endswith(REWRITTEN))
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def hold(
    row: Row,
    world: Mapping[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Run a row in the current, empty folder.

    It ends with its status and, where it is refused, with one error line with the facts. There is no
    traceback, no control character and no wait for input; no code of a file runs, and a refused command
    changes no file.
    """
    here = Path.cwd()
    words = filled(row.command, world, row.files)
    typed = io.StringIO(row.said) if words[0] == "chat" else NobodyTypes()
    monkeypatch.setattr(sys, "stdin", typed)
    roots = {here, *(path.parent for path in world.values())}
    before = {name: digest for root in roots for name, digest in content(root).items()}
    capfd.readouterr()
    status = main(words)
    out, err = capfd.readouterr()
    lines = [line for line in err.splitlines() if line.startswith(PREFIX)]
    assert status == row.status, (out + err)[-2000:]
    assert "Traceback" not in out + err
    # A chat shows what is typed.
    assert "\x1b" not in (err if row.said else out + err)
    assert not (here / RAN).exists()
    assert len(lines) == (status == REFUSED), lines
    for line in lines:
        assert line.isprintable()
        assert [fact for fact in row.facts if fact not in line] == [], line
    if status == REFUSED:
        after = {name: digest for root in roots for name, digest in content(root).items()}
        assert before.items() <= after.items()
