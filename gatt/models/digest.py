"""A digest of the files of a model or adapter, which identifies it.

A name does not: another model may be put into the same folder, and a resumed run would mix
the two. Reading every byte of a large model takes minutes, so files above `WHOLE_BYTES` are sampled:
their size, their head (where a safetensors file lists its tensors) and `NUM_BLOCKS` blocks, spread evenly
over the rest. Training, merging, quantising or editing a matrix changes some block. A change of
single numbers between two blocks of a large file is not noticed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from gatt.errors import ModelError
from gatt.models.adapter import SETTINGS, WEIGHTS, one_line, require_file
from gatt.runs.input_file import parse_json

WHOLE_BYTES: Final = 64 * 2**20
"""Files up to this size, such as most adapters, are read whole."""
NUM_BLOCKS: Final = 1023
BLOCK_BYTES: Final = 64 * 2**10
HEAD_BYTES: Final = 2**20

_WEIGHTS: Final = ("*.safetensors", "*.bin")
_OTHERS: Final = ("*.json", "*.jinja", "*.model", "*.txt")
"""Configuration, tokenizer and chat template, which change replies too."""


def model_digest(name: str) -> str:
    """Return 16 hex digits of a base model: of its files, or of its commit on the hub.

    The embedded model is converted at its first use; of a hub id only its config.json is downloaded.

    Raises:
        ModelError: no such model, or one without weights.
    """
    from gatt.models.load import resolve

    place = Path(resolve(name))
    return folder_digest(place) if place.is_dir() else _commit(name)


def adapter_digest(folder: Path) -> str:
    """Return 16 hex digits of an adapter's weights and settings.

    Raises:
        ModelError: no adapter in the folder, or one that cannot be read.
    """
    require_file(folder, WEIGHTS)
    return folder_digest(folder)


def folder_digest(folder: Path) -> str:
    """Return 16 hex digits of the names, sizes and contents of the files of a model or adapter.

    Sub-folders and other kinds of files do not count.

    Raises:
        ModelError: no weights, or a file that cannot be read.
    """
    if not any(path.is_file() for pattern in _WEIGHTS for path in folder.glob(pattern)):
        raise ModelError(f"{folder}: no weights ({', '.join(_WEIGHTS)}): expected a saved model")
    sha = hashlib.sha256()
    paths = {p for pattern in (*_WEIGHTS, *_OTHERS) for p in folder.glob(pattern) if p.is_file()}
    for path in sorted(paths):
        try:
            sha.update(f"{path.name}\0".encode())
            for part in _settings(path) if path.name == SETTINGS else _parts(path):
                sha.update(part)
        except OSError as error:
            raise ModelError(f"{path}: cannot read: {error.strerror}: check the folder") from None
    return sha.hexdigest()[:16]


def _parts(path: Path) -> Iterator[bytes]:
    size = path.stat().st_size
    yield f"{size}\0".encode()
    with path.open("rb") as stream:
        if size <= WHOLE_BYTES:
            yield stream.read()
            return
        yield stream.read(HEAD_BYTES)
        last = size - BLOCK_BYTES
        for number in range(NUM_BLOCKS):
            stream.seek(HEAD_BYTES + number * (last - HEAD_BYTES) // (NUM_BLOCKS - 1))
            yield stream.read(BLOCK_BYTES)


def _settings(path: Path) -> Iterator[bytes]:
    """Yield an adapter's settings in a fixed order: PEFT saves sets as lists in any order."""
    raw = path.read_bytes()
    try:
        yield json.dumps(_sorted(parse_json(raw)), sort_keys=True).encode()
    except ValueError:
        yield raw


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(item) for key, item in value.items()}
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return sorted(value)
    return value


def _commit(name: str) -> str:
    """Return a model's commit on the hub, or in the cache where the hub cannot be reached."""
    from transformers.utils import cached_file

    try:
        path = cached_file(name, "config.json")
    except (OSError, ValueError) as error:
        raise ModelError(f"{name}: cannot look up the model: {one_line(error)}") from None
    # The folder of a snapshot in the cache has the name of its commit.
    return Path(str(path)).parent.name[:16]
