"""Careless and hostile files by name: `{deep.yaml}` in a command of a test stands for one that is made."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

Maker = Callable[[Path], None]
"""Makes what a path is to hold; what stands there is the good file that it replaces, if there is one."""

RAN: Final = "CODE_RAN"
"""Appears in the current folder where code ran that must not."""
CODE: Final = f"open({RAN!r}, 'w').close()\n"
ESCAPES: Final = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e"
"""Clears a terminal, names its window, colours it, and turns its text around."""


class Runs:
    """A pickle that runs code where it is loaded."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (CODE,)


def raw(content: bytes) -> Maker:
    """Return a maker of a file."""

    def make(path: Path) -> None:
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.write_bytes(content)

    return make


def text(content: str) -> Maker:
    """Return a maker of a text file, halves of surrogate pairs included."""
    return raw(content.encode("utf-8", "surrogatepass"))


def rows(*values: Any) -> Maker:
    """Return a maker of JSON lines."""
    return text("".join(f"{json.dumps(value)}\n" for value in values))


def changed(**keys: Any) -> Maker:
    """Return a maker that changes keys of a JSON file."""

    def make(path: Path) -> None:
        path.write_text(json.dumps({**json.loads(path.read_text()), **keys}))

    return make


def _other(make: Callable[[Path], object]) -> Maker:
    """Return a maker of something that is no file."""

    def made(path: Path) -> None:
        path.unlink(missing_ok=True)
        make(path)

    return made


KINDS: Final[dict[str, Maker]] = {
    "empty": text(""),
    "nul": text("\0" * 4096),
    "noise": raw(bytes(range(256)) * 64),
    "surrogate": text('{"a": "\ud800"}\n'),
    "escapes": text(f'{{"{ESCAPES}": "{ESCAPES}"}}\n'),
    "long": text("a" * 3_000_000),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "null": text("null\n"),
    "list": text("[1, 2]\n"),
    "object": text("{}\n"),
    "digits": text('{"a": ' + "9" * 9999 + "}\n"),
    "deep": text('{"a": ' * 100_000),
    "tags": text(f"a: !!python/object/apply:builtins.exec [{CODE.strip()!r}]\n"),
    "twice": text("a: 1\na: 2\n"),
    "pickle": raw(pickle.dumps(Runs())),
    "folder": _other(Path.mkdir),
    "loop": _other(lambda path: path.symlink_to(path.name)),
    "missing": _other(lambda path: None),
}
"""What may stand in place of any file: `{noise.yaml}`, or `{base/config.json=nul}` in a copy of a folder."""

_SLOT: Final = re.compile(r"\{([^{}=]+)(?:=([\w-]+))?\}")


def filled(command: str, world: Mapping[str, Path], files: Mapping[str, Maker]) -> list[str]:
    """Return the words of a command, with what it names made in the current folder.

    Args:
        command: words with slots: `{base}` of the world, `{base/config.json=nul}` for a copy of it in which
            a file is replaced, `{nul.yaml}` for one of `KINDS`, `{name}` for one of `files`.
        world: of `make_world`.
        files: further makers by file name.
    """

    def place(match: re.Match[str]) -> str:
        name, kind = match[1], match[2]
        if kind:
            good, _, inner = name.partition("/")
            copy = Path(good).absolute()
            if not copy.exists():
                shutil.copytree(world[good], copy)
            (files.get(kind) or KINDS[kind])(copy / inner)
            return str(copy)
        if name in world:
            return str(world[name])
        path = Path(name).absolute()
        if not os.path.lexists(path):
            (files.get(name) or KINDS[name.partition(".")[0]])(path)
        return str(path)

    return [_SLOT.sub(place, word) for word in command.split(" ")]
