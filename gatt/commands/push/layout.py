"""What the layouts share: files put in place, and texts that are fit to be seen."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gatt.commands.export.redaction import Private, private_in, public_text, public_value
from gatt.commands.push.config import PushConfig
from gatt.errors import DataError
from gatt.models.base_card import read_card
from gatt.runs.input_file import read_text
from gatt.runs.nesting import parse_json
from gatt.runs.secrets import key_in

CARD: Final = "README.md"


@dataclass(frozen=True)
class Layout:
    """A folder to fill for what is pushed."""

    config: PushConfig
    target: Path
    links: bool
    """Whether large files may be linked: the folder goes once they are uploaded."""
    left_out: list[str] = field(default_factory=list)
    """Files of the pushed folder that are of no kind that is shared; whoever lays out adds them."""
    learnt: list[Private] = field(default_factory=list)
    """Paths and servers of the run that made the folder; `learn` adds them."""

    def source(self, name: str, hint: str) -> Path:
        """Return a file of the pushed folder.

        Raises:
            DataError: it is not there.
        """
        path = self.config.folder / name
        if not path.is_file():
            raise DataError(f"{self.config.folder}: no {name}: expected a folder {hint}")
        return path

    def put(self, path: Path, name: str | None = None) -> None:
        """Put a file in its place as it is."""
        place = self.target / (name or path.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        if self.links:
            place.symlink_to(path.resolve())
        else:
            shutil.copyfile(path, place)

    def write_text(self, name: str, text: str) -> None:
        """Write a text that was made fit to be seen.

        Raises:
            DataError: what looks like an access key is in it.
        """
        if key_in(text) is not None:
            raise DataError(
                f"{self.config.folder}: {name} would hold what looks like an access key: take it out of the "
                "files there, and make a new key"
            )
        place = self.target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def write_json(self, name: str, value: Any) -> None:
        """Write a JSON value without local paths.

        Raises:
            DataError: see `write_text`.
        """
        shown = public_value(value, *self.private())
        self.write_text(name, json.dumps(shown, indent=2, ensure_ascii=False) + "\n")

    def write_card(self, data: Any, body: str) -> None:
        """Write the card of metadata and text, without local paths.

        Raises:
            DataError: see `write_text`.
        """
        text = f"---\n{data.to_yaml()}\n---\n\n{body.strip()}\n"
        self.write_text(CARD, self.public(text))

    def public(self, text: str) -> str:
        """Return a text without local paths."""
        return public_text(text, *self.private())

    def learn(self, value: Any) -> None:
        """Cut the paths and servers of a configuration out of all that is written from now on."""
        self.learnt.extend(private_in(value))

    def private(self) -> tuple[Private, ...]:
        """Return folders and servers that stand in no list of usual ones."""
        return (Path.cwd(), Path.home(), self.config.folder.resolve(), *self.learnt)

    def card(self) -> Any:
        """Return the card in the pushed folder, an empty one where there is none."""
        path = self.config.folder / CARD
        return read_card(text_of(path) if path.is_file() else "")


def text_of(path: Path) -> str:
    """Return the text of a file.

    Raises:
        DataError: no UTF-8.
    """
    try:
        return read_text(path)
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: no UTF-8 text at byte {error.start}: save it as UTF-8") from None


def read_json(path: Path) -> Any:
    """Return the value of a JSON file.

    Raises:
        DataError: broken JSON.
    """
    try:
        return parse_json(read_text(path))
    except ValueError:
        raise DataError(f"{path}: broken JSON: make it again") from None
