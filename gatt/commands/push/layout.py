"""The folder of a push: files are put in place, texts lose what is private, a card is written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Final

from gatt.commands.export.evaluation import CARD, RESULTS_FILE, TAGS, evaluation_of
from gatt.commands.export.redaction import Private, private_in, public_value
from gatt.commands.push.command import PushConfig
from gatt.commands.templates import filled
from gatt.data.training_marks import FILE as MARKS
from gatt.errors import DataError
from gatt.models.adapter import SETTINGS, WEIGHTS, base_model_of
from gatt.models.base_card import hub_id, license_of, note_of, public_name, read_card
from gatt.models.digest import adapter_digest
from gatt.models.template_variables import FILE as VARIABLES
from gatt.runs.input_file import read_json, read_text
from gatt.runs.secrets import key_in

_PAGE: Final = "report.html"


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


def lay_out_adapter(layout: Layout) -> None:
    """Fill the folder with PEFT's two files, what the adapter was trained on and with, and the card.

    Raises:
        DataError: no evaluation in `results`, or one of another adapter.
        ModelError: no adapter there.
    """
    config, folder = layout.config, layout.config.folder
    base = base_model_of(folder) or ""
    settings = layout.read(folder / SETTINGS)
    card = layout.card()
    card.text = card.text.strip() or f"# Ghost Attention adapter\n\nFor `{public_name(base)}`."
    card.data.library_name, card.data.pipeline_tag = "peft", "text-generation"
    if base:
        settings["base_model_name_or_path"] = hub_id(base) or public_name(base)
        card.data.base_model = hub_id(base)
        card.data.license = card.data.license or license_of(base)
    if note := note_of(base):
        card.text += f"\n\n## Base model\n\n{note}"
    if config.results is not None:
        section, run = evaluation_of(config.results, config.arm, adapter_digest(folder))
        layout.private.extend(private_in(run))
        before, mark, after = card.text.partition("\n## Limits")
        card.text = f"{before.rstrip()}\n\n{section}\n{mark}{after}"
    layout.write(SETTINGS, settings)
    for path in (folder / WEIGHTS, folder / MARKS, folder / VARIABLES):
        if path.is_file():
            layout.put(path)
    layout.write_card(card)


def lay_out_report(layout: Layout) -> None:
    """Fill the folder with a static space: the page, the numbers behind it, and the card.

    Raises:
        DataError: no report or no results there, broken ones, or no such arm in them.
    """
    config, card = layout.config, layout.card()
    page = layout.read(config.folder / _PAGE)
    section, run = evaluation_of(config.folder, config.arm)
    layout.write(RESULTS_FILE, layout.read(config.folder / RESULTS_FILE))
    layout.write(_PAGE, page)
    name = run.get("name") or config.folder.resolve().name
    card.data.title = f"GAtt evaluation: {name}"
    card.data.sdk, card.data.app_file, card.data.tags = "static", _PAGE, [*TAGS]
    card.text = filled("push/report.md.j2", title=card.data.title, evaluation=section)
    layout.write_card(card)
