"""The folder of a push: files are put in place, and texts lose what is private."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from gatt.commands.export.card import CARD
from gatt.commands.export.redaction import Private, private_in, public_value
from gatt.commands.push.config import PushConfig
from gatt.errors import DataError
from gatt.models.base_card import read_card
from gatt.runs.input_file import read_text
from gatt.runs.nesting import parse_json
from gatt.runs.secrets import key_in


class Layout:
    """A folder to fill.

    Args:
        config: what is pushed.
        target: the folder.
    """

    def __init__(self, config: PushConfig, target: Path) -> None:
        self.config = config
        self.target = target
        self._private: list[Private] = [Path.cwd(), Path.home(), config.folder.resolve()]

    def source(self, name: str, command: str) -> Path:
        """Return a file of the pushed folder.

        Raises:
            DataError: it is not there.
        """
        path = self.config.folder / name
        if not path.is_file():
            raise DataError(f"{path.parent}: no {name}: expected a folder that `{command}` made")
        return path

    def hide(self, value: Any) -> None:
        """Remove the paths and servers of a configuration from all texts written from now on."""
        self._private.extend(private_in(value))

    def public(self, value: Any) -> Any:
        """Return a JSON value or text without local paths and servers."""
        return public_value(value, *self._private)

    def put(self, path: Path) -> None:
        """Copy a file unchanged; for the hub, where the folder is temporary, link it."""
        if self.config.output_dir is None:
            (self.target / path.name).symlink_to(path.resolve())
        else:
            shutil.copyfile(path, self.target / path.name)

    def write(self, name: str, text: str) -> None:
        """Write a text that `public` has returned.

        Raises:
            DataError: it holds what looks like an access key.
        """
        if key_in(text) is not None:
            raise DataError(
                f"{self.config.folder}: {name} would hold what looks like an access key: take it out of the "
                "files there, and make a new key"
            )
        (self.target / name).write_text(text, encoding="utf-8")

    def write_json(self, name: str, value: Any) -> None:
        """Write a JSON value without local paths; see `write`."""
        self.write(name, json.dumps(self.public(value), indent=2, ensure_ascii=False) + "\n")

    def card(self) -> Any:
        """Return the card of the pushed folder, an empty one where there is none."""
        path = self.config.folder / CARD
        card: Any = read_card(text_of(path) if path.is_file() else "")
        card.data.license = self.config.license or card.data.get("license")
        return card

    def write_card(self, card: Any) -> None:
        """Write the card without local paths; see `write`."""
        self.write(CARD, self.public(f"---\n{card.data.to_yaml()}\n---\n\n{card.text.strip()}\n"))


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
