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
from gatt.runs.input_file import read_json, read_text
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
        self.private: list[Private] = [Path.cwd(), Path.home(), config.folder.resolve()]

    def read(self, path: Path) -> Any:
        """Return the text of a file, or the value of a `.json` file; its paths are private from now on.

        Raises:
            DataError: it is not there, or broken.
        """
        if not path.is_file():
            raise DataError(f"{path.parent}: no {path.name}: expected a folder of a gatt command")
        try:
            value = read_json(path) if path.suffix == ".json" else read_text(path)
        except ValueError as error:
            said = " ".join(str(error).split())
            raise DataError(f"{path}: broken ({said}): make it again") from None
        self.private.extend(private_in(value))
        return value

    def put(self, path: Path) -> None:
        """Copy a file unchanged; for the hub, where the folder is temporary, link it."""
        if self.config.output_dir is None:
            (self.target / path.name).symlink_to(path.resolve())
        else:
            shutil.copyfile(path, self.target / path.name)

    def write(self, name: str, value: Any) -> None:
        """Write a text or a JSON value without local paths and servers.

        Raises:
            DataError: it holds what looks like an access key.
        """
        text = public_value(value, *self.private)
        if not isinstance(text, str):
            text = json.dumps(text, indent=2, ensure_ascii=False) + "\n"
        if key_in(text) is not None:
            raise DataError(
                f"{self.config.folder}: {name} would hold what looks like an access key: take it out of the "
                "files there, and make a new key"
            )
        (self.target / name).write_text(text, encoding="utf-8")

    def card(self) -> Any:
        """Return the card of the pushed folder, an empty one where there is none."""
        path = self.config.folder / CARD
        card: Any = read_card(self.read(path) if path.is_file() else "")
        card.data.license = self.config.license or card.data.get("license")
        return card

    def write_card(self, card: Any) -> None:
        """Write the card; see `write`."""
        self.write(CARD, f"---\n{card.data.to_yaml()}\n---\n\n{card.text.strip()}\n")
