"""Models, tokenizers and adapters: packaged, from a folder, a GGUF file, or the hub."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from gatt.errors import ModelError
from gatt.models.adapter import SETTINGS, attach_adapter
from gatt.models.packaged import PACKAGED, cache_folder, gguf_folder, packaged_folder
from gatt.models.pretrained import load_pretrained
from gatt.models.template_variables import TemplateValue, set_template_variables
from gatt.runs.suggest import did_you_mean


@dataclass(frozen=True)
class LoadedModel:
    """A causal LM in evaluation mode with its tokenizer."""

    model: Any
    tokenizer: Any
    name: str


def resolve(name: str, holding: Sequence[str] = ("config.json",)) -> str:
    """Return the folder or hub id from which transformers can load a model.

    `name` is that of a packaged model (`gatt models`), a folder, a `.gguf` file, or a hub id. A folder must
    have at least one of the files `holding`.

    Raises:
        ModelError: a packaged model that was not downloaded, or a path without a model.
    """
    if not name:
        raise ModelError("the model is '': expected a folder or a hub id")
    if name in PACKAGED:
        return str(packaged_folder(PACKAGED[name]))
    looks_local = name.startswith((".", "/", "~")) or name.count("/") != 1
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not any((folder / file).is_file() for file in holding):
            raise ModelError(
                f"{name}: no {' or '.join(holding)} in this folder: expected a saved transformers model"
            )
        return str(folder)
    if folder.is_file() and folder.suffix == ".gguf":
        return str(gguf_folder(folder))
    # A bare name, such as gpt2, may be an id of the hub.
    if looks_local and ("/" in name or folder.suffix):
        hint = did_you_mean(name, PACKAGED)
        raise ModelError(
            f"{name}: found no model{hint}: expected a model folder, a .gguf file, a hub id 'owner/name', or "
            "a name of `gatt models`"
        )
    return name


def load_tokenizer(name: str, variables: Mapping[str, TemplateValue] | None = None) -> Any:
    """Return the tokenizer of a model, with a padding token, and variables of its chat template set.

    Raises:
        ModelError: it cannot be loaded.
    """
    from transformers import AutoTokenizer

    folder = resolve(name, ("config.json", "tokenizer_config.json"))
    tokenizer = load_pretrained(AutoTokenizer, folder, name=name, what="the tokenizer")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    set_template_variables(tokenizer, variables or {})
    return tokenizer


def load_model_config(name: str) -> Any:
    """Return the configuration of a model.

    Raises:
        ModelError: it cannot be loaded.
    """
    from transformers import AutoConfig

    return load_pretrained(AutoConfig, resolve(name), name=name, what="the model's configuration")


def load_model(
    name: str,
    *,
    dtype: str = "auto",
    device: str | torch.device = "cpu",
    attn_implementation: str | None = None,
    load_in_4bit: bool = False,
) -> LoadedModel:
    """Return model and tokenizer on a device.

    Args:
        name: of a packaged model, a folder, a `.gguf` file, or a hub id.
        dtype: `auto` (float32 on CPU, bfloat16 on GPU), or the name of one of torch's
            floating-point types.
        device: where the weights go.
        attn_implementation: of transformers; None is its default.
        load_in_4bit: keep the weights of linear layers in 4 bits (nf4, double quantisation; QLoRA,
            arXiv:2305.14314); bitsandbytes converts them to the dtype layer by layer.

    Raises:
        ModelError: it cannot be loaded, weights or bitsandbytes are missing, or this machine has no
            such dtype or device.
    """
    from transformers import AutoModelForCausalLM
    from transformers.utils.logging import (
        disable_progress_bar,
        get_verbosity,
        set_verbosity,
        set_verbosity_error,
    )

    # Its progress bars hide the log lines of the run.
    disable_progress_bar()
    place = _device(device)
    chosen = _dtype(dtype, place)
    quantization = _in_4bit(chosen, place) if load_in_4bit else {}
    tokenizer = load_tokenizer(name)
    source = resolve(name)
    if (Path(source) / SETTINGS).is_file():
        # transformers would load the adapter as a part of the model.
        raise ModelError(
            f"{name}: a model and {SETTINGS} in one folder: expected the model alone: move the adapter to a "
            "folder of its own"
        )
    verbosity = get_verbosity()
    # The errors below say in one line what its table of weights says.
    set_verbosity_error()
    try:
        model, loading = load_pretrained(
            AutoModelForCausalLM,
            source,
            name=name,
            what="the model",
            dtype=chosen,
            attn_implementation=attn_implementation,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
            weights_only=True,
            **quantization,
        )
    except ModelError as error:
        if not Path(source).is_relative_to(cache_folder()):
            raise
        raise ModelError(f"{error}: delete {source} to convert it again") from error
    finally:
        set_verbosity(verbosity)
    if loading["mismatched_keys"]:
        weight, stored, expected = min(loading["mismatched_keys"])
        raise ModelError(
            f"{name}: {len(loading['mismatched_keys'])} weights have another shape than config.json says, "
            f"such as {weight}: found {tuple(stored)}, expected {tuple(expected)}: use the config.json that "
            "was saved with these weights"
        )
    if loading["missing_keys"]:
        # transformers would fill them with random numbers.
        raise ModelError(
            f"{name}: {len(loading['missing_keys'])} weights are missing, such as "
            f"{min(loading['missing_keys'])}: expected a complete causal language model"
        )
    if not load_in_4bit:
        model = model.to(place)
    for module in model.modules() if load_in_4bit else ():
        if hasattr(module, "support_avx512bf16_for_cpu"):
            # Its CPU kernel for evaluation rounds to bfloat16, which training does not.
            module.support_avx512bf16_for_cpu = False
    return LoadedModel(model.eval(), tokenizer, name)


def require_bitsandbytes() -> None:
    """Refuse `load_in_4bit` where its extra is missing.

    Raises:
        ModelError: says which to install.
    """
    if importlib.util.find_spec("bitsandbytes") is None:
        raise ModelError(
            "load_in_4bit: bitsandbytes is not installed: `pip install 'ghost-attention[qlora]'`, or set "
            "load_in_4bit to false"
        )


def _in_4bit(dtype: torch.dtype, device: torch.device) -> dict[str, Any]:
    """Return the settings of a model in 4 bits."""
    require_bitsandbytes()
    from transformers import BitsAndBytesConfig

    quantisation = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=dtype,
    )
    return {"quantization_config": quantisation, "device_map": {"": device}}


def load_adapter(base: LoadedModel, folder: Path, adapter_name: str) -> LoadedModel:
    """Return the model with one more LoRA adapter; raises as `attach_adapter` does."""
    model = attach_adapter(base.model, folder, base_name=base.name, adapter_name=adapter_name)
    return LoadedModel(model.eval(), base.tokenizer, base.name)


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
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ModelError(f"unknown dtype {name!r}: expected auto, float32, bfloat16 or float16")
    return dtype
