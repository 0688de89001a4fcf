"""A model of `gatt export` as a model repository: weights in safetensors only."""

from __future__ import annotations

from typing import Final

from gatt.commands.export.card import CARD
from gatt.commands.push.layout import Layout, read_json, text_of
from gatt.errors import DataError

_PICKLES: Final = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".msgpack", ".h5")
_KINDS: Final = (".safetensors", ".json", ".jinja", ".model", ".txt")
# Other files hold words of a vocabulary, which may look like a path.
_SETTINGS: Final = ("config.json", "generation_config.json", "adapter_config.json")


def lay_out_model(layout: Layout) -> None:
    """Fill the folder.

    Raises:
        DataError: no model there, weights in a form that can run code, or no card.
    """
    folder = layout.config.folder
    layout.hide(read_json(layout.source("config.json", "gatt export")))
    layout.source(CARD, "gatt export")
    if not any(folder.glob("*.safetensors")):
        raise DataError(f"{folder}: no weights (*.safetensors): expected a folder of `gatt export`")
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if path.suffix in _PICKLES:
            raise DataError(f"{path}: expected weights in safetensors only: take it away")
        if path.name in _SETTINGS:
            layout.write_json(name, read_json(path))
        elif path.name == CARD:
            layout.write(name, layout.public(text_of(path)))
        elif path.suffix in _KINDS and not path.name.startswith("."):
            layout.put(path)
        else:
            layout.left_out.append(name)
    layout.write_card(layout.card())
