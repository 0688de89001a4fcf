"""A model of `gatt export` as a model repository: safetensors only."""

from __future__ import annotations

import json
from typing import Final

from gatt.commands.push.layout import CARD, Layout, read_json, text_of
from gatt.errors import DataError

_HINT: Final = "that `gatt export` made"
_PICKLES: Final = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".msgpack", ".h5")
_KINDS: Final = (".safetensors", ".json", ".jinja", ".model", ".txt")
# Others hold words of a vocabulary, which may look like anything.
_SETTINGS: Final = ("config.json", "generation_config.json", "adapter_config.json")
_TOKENIZER: Final = "tokenizer_config.json"


def lay_out_model(layout: Layout) -> None:
    """Fill the folder.

    Raises:
        DataError: no model there, weights in a form that can run code, or no card.
    """
    folder = layout.config.folder
    layout.source("config.json", _HINT)
    layout.source(CARD, _HINT)
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in paths:
        if path.suffix in _PICKLES:
            raise DataError(f"{path}: expected weights in safetensors only: take it away")
    if not any(path.suffix == ".safetensors" and path.parent == folder for path in paths):
        raise DataError(f"{folder}: no weights (*.safetensors): expected a folder {_HINT}")
    layout.learn(read_json(folder / "config.json"))
    for path in paths:
        name = path.relative_to(folder).as_posix()
        if path.name in _SETTINGS:
            layout.write_json(name, read_json(path))
        elif path.name == _TOKENIZER:
            settings = read_json(path)
            settings.pop("name_or_path", None)
            layout.write_text(name, f"{json.dumps(settings, indent=2, ensure_ascii=False)}\n")
        elif path.name == CARD and path.parent != folder:
            layout.write_text(name, layout.public(text_of(path)))
        elif path.suffix in _KINDS and not path.name.startswith("."):
            layout.put(path, name)
        elif path != folder / CARD:
            layout.left_out.append(name)
    card = layout.card()
    card.data.license = layout.config.license or card.data.license
    layout.write_card(card.data, card.text)
