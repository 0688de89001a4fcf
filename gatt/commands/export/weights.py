"""The weights of an export: base model and adapter, merged or apart, in the wanted dtype."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Final

import torch

from gatt.errors import ModelError
from gatt.models.adapter import attach_adapter, one_line
from gatt.models.load import LoadedModel, load_model, resolve
from gatt.models.pretrained import load_pretrained

_TIED: Final = frozenset({"embed_tokens", "lm_head", "wte", "embed_in", "embed_out"})


def load_base(model: str, dtype: str) -> tuple[LoadedModel, torch.dtype]:
    """Return the base model in a dtype in which adding an adapter loses nothing, and the dtype to write.

    `auto` is the dtype of the model's configuration, float32 where it names none.

    Raises:
        ModelError: it cannot be loaded, or its weights are quantised.
    """
    from transformers import AutoConfig

    config = load_pretrained(AutoConfig, resolve(model), name=model, what="its configuration")
    if getattr(config, "quantization_config", None):
        raise ModelError(
            f"{model}: its weights are quantised: expected plain ones to add the adapter to: name the model "
            "that it was quantised from with model"
        )
    stored = getattr(config, "dtype", None) or torch.float32
    target = stored if dtype == "auto" else getattr(torch, dtype)
    # PEFT rounds the update to the dtype of the weight before it adds it: a small update would be lost.
    exact = torch.promote_types(torch.promote_types(stored, target), torch.float32)
    return load_model(model, dtype=str(exact).removeprefix("torch.")), target


def merged(base: LoadedModel, adapter: Path) -> Any:
    """Return the model with the adapter added to its weights.

    Raises:
        ModelError: an adapter that does not fit, is broken (NaN), or changes weights that input
            and output share.
    """
    with warnings.catch_warnings():
        # PEFT warns of tied weights, which are refused below.
        warnings.filterwarnings("ignore", ".*tie_word_embeddings", UserWarning)
        model = attach_adapter(base.model, adapter, base_name=base.name)
    names = {name.rpartition(".")[2] for name in model.base_model.targeted_module_names} & _TIED
    if names and getattr(base.model.config, "tie_word_embeddings", False):
        raise ModelError(
            f"{adapter}: adapts {min(names)}, which shares its weights with the other end of {base.name}: "
            "merged, both would change: serve the adapter beside its base model instead"
        )
    try:
        return model.merge_and_unload(safe_merge=True)
    except (ValueError, RuntimeError) as error:
        raise ModelError(f"{adapter}: cannot be merged: {one_line(error)}") from None
