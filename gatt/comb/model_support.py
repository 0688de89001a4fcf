"""Whether a model can take packed rows: by its configuration, and by a try."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

from gatt.comb.attention.backend import SLIDING, enable_comb_attention
from gatt.comb.collator import GattCollator, Layout, combs_to_features
from gatt.comb.comb import IGNORE, Branch, Comb, expand
from gatt.comb.loss import supervised_logits

MOST_ERROR = 1e-3
MOST_ERROR_BF16 = 0.1
# Their layers mask a window that they tell nobody of.
_HIDDEN_WINDOWS = ("phimoe", "doge")
# Their layers choose which tokens they see.
_OWN_MASKS = ("doge",)
# The factors of all positions hang on the furthest one.
_LENGTH_DEPENDENT_ROPE = ("longrope", "dynamic")
_PACKABLE_LAYERS = {"full_attention", SLIDING}


def why_not_packable(
    config: Any, attn_implementation: str | None = None, max_length: int = 0
) -> str | None:
    """Return why a model of this configuration cannot take packed rows; None if it may.

    Args:
        config: of a causal LM of transformers.
        attn_implementation: that the user asked for.
        max_length: furthest position of a row.
    """
    if attn_implementation == "eager":
        return "attn_implementation 'eager' adds a mask to every pair of tokens"
    architecture = MODEL_FOR_CAUSAL_LM_MAPPING.get(type(config), None)
    if isinstance(architecture, tuple):
        architecture = architecture[0]
    if architecture is None:
        return f"{type(config).__name__} is not a causal LM of transformers' own"
    name = architecture.__name__
    if getattr(architecture, "_is_stateful", False):
        return f"{name} has recurrent layers, whose state goes through the whole row"
    text = config.get_text_config()
    if text.model_type in _HIDDEN_WINDOWS and getattr(text, "sliding_window", None):
        return f"the layers of {name} do not tell their sliding window"
    if text.model_type in _OWN_MASKS:
        return f"the layers of {name} add a mask of their own to every pair of tokens"
    for rope in _ropes(text):
        if rope.get("rope_type") not in _LENGTH_DEPENDENT_ROPE:
            continue
        short = rope.get("original_max_position_embeddings") or text.max_position_embeddings
        if max_length > short:
            return (
                f"beyond {short} tokens (max_length is {max_length}) the rotary embedding of "
                f"{name} hangs on the length of the row"
            )
    layer_types = set(getattr(text, "layer_types", None) or ())
    if layer_types - _PACKABLE_LAYERS:
        return f"{name} has layers of type {', '.join(sorted(layer_types - _PACKABLE_LAYERS))}"
    if not architecture._supports_attention_backend:
        return f"{name} does not let its attention be replaced"
    return None


def _ropes(config: Any) -> list[Mapping[str, Any]]:
    """Return the settings of the rotary embedding: one for all layers, or one a kind of layer."""
    found = getattr(config, "rope_parameters", None) or {}
    nested = [value for value in found.values() if isinstance(value, Mapping)]
    return nested or [found]


def packing_problem(
    model: Any, attn_implementation: str | None = None, max_length: int = 0
) -> str | None:
    """Return why a loaded model cannot take packed rows, after a try; None if it can.

    Args:
        model: a causal LM.
        attn_implementation: that the user asked for.
        max_length: furthest position of a row.
    """
    problem = why_not_packable(model.config, attn_implementation, max_length)
    if problem is not None:
        return problem
    try:
        error = packing_error(model)
    except (RuntimeError, ValueError, TypeError, AttributeError, IndexError) as failure:
        return f"a try failed: {' '.join(str(failure).split())}"
    most = MOST_ERROR if model.dtype in (torch.float32, torch.float64) else MOST_ERROR_BF16
    if error is not None and not error < most:
        return f"a try gave logits {error:.2g} off those of plain rows, relative to the largest"
    return None


def packing_error(model: Any) -> float | None:
    """Return how far the logits of a packed row are off those of plain rows; None where untried.

    A comb of 24 tokens goes through the model both ways: the largest difference
    relative to the largest logit. Rounding stays below `MOST_ERROR` in float32; a
    model that ignores position ids or mixes tokens is far above.

    Args:
        model: a causal LM; weights that are not all here (DeepSpeed ZeRO-3) are not tried.
    """
    if any(p.is_meta or hasattr(p, "ds_id") for p in model.parameters()):
        return None
    size = model.get_input_embeddings().weight.shape[0]
    ids = tuple(torch.randint(size, (24,), generator=torch.Generator().manual_seed(0)).tolist())
    branches = (Branch(5, ids[16:20], ids[16:20]), Branch(16, ids[20:], ids[20:]))
    comb = Comb(ids[:16], (IGNORE,) * 16, branches)
    before, was_training = model.config._attn_implementation, model.training
    model.eval()
    try:
        plain = _logits(model, expand(comb), "expanded")
        enable_comb_attention(model)
        packed = _logits(model, [comb], "comb")
    finally:
        model.set_attn_implementation(before)
        model.train(was_training)
    return float((packed - plain).abs().max() / plain.abs().max())


def _logits(model: Any, combs: Sequence[Comb], layout: Layout) -> torch.Tensor:
    """Return the logits of all supervised tokens, in the order of the branches."""
    collate = GattCollator(pad_token_id=0, layout=layout)
    rows = [collate([combs_to_features([comb])]) for comb in combs]
    with torch.no_grad():
        batches = [{n: v.to(model.device) for n, v in row.items()} for row in rows]
        return torch.cat([supervised_logits(model, batch)[0] for batch in batches]).float()
