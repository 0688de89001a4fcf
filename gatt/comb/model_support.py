"""Whether a model can take packed rows: by its configuration, and by a trial forward pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

from gatt.comb.attention.backend import SLIDING, enable_comb_attention
from gatt.comb.collator import GattCollator, RowLayout, combs_to_features
from gatt.comb.comb import IGNORE, Branch, Comb, expand
from gatt.comb.loss import supervised_logits

MOST_ERROR = 1e-3
MOST_ERROR_BF16 = 0.1
"""SmolLM2-135M has 0.03 by rounding, and 0.2 where the branches see one token too many."""
# Their layers mask a window that their config does not declare.
_HIDDEN_WINDOWS = ("phimoe", "doge")
# Their layers choose which tokens they see.
_OWN_MASKS = ("doge",)
# The factors of all positions depend on the furthest one.
_LENGTH_DEPENDENT_ROPE = ("longrope", "dynamic")
_PACKABLE_LAYERS = {"full_attention", SLIDING}


def most_error(dtype: torch.dtype) -> float:
    """Return the relative error that rounding explains."""
    return MOST_ERROR if dtype in (torch.float32, torch.float64) else MOST_ERROR_BF16


def why_not_packable(
    config: Any, attn_implementation: str | None = None, max_length: int = 0
) -> str | None:
    """Return why a model of this configuration cannot take packed rows; None if it may.

    Arguments are those of `packing_problem`.
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
        return f"the layers of {name} do not declare their sliding window"
    if text.model_type in _OWN_MASKS:
        return f"the layers of {name} add a mask of their own to every pair of tokens"
    # One setting for all layers, or one a kind of layer.
    ropes = getattr(text, "rope_parameters", None) or {}
    for rope in (ropes, *(r for r in ropes.values() if isinstance(r, Mapping))):
        if rope.get("rope_type") not in _LENGTH_DEPENDENT_ROPE:
            continue
        short = rope.get("original_max_position_embeddings") or text.max_position_embeddings
        if max_length > short:
            return (
                f"beyond {short} tokens (max_length is {max_length}) the rotary embedding of "
                f"{name} depends on the length of the row"
            )
    layer_types = set(getattr(text, "layer_types", None) or ())
    if layer_types - _PACKABLE_LAYERS:
        return f"{name} has layers of type {', '.join(sorted(layer_types - _PACKABLE_LAYERS))}"
    if not architecture._supports_attention_backend:
        return f"{name} does not let its attention be replaced"
    return None


def packing_problem(
    model: Any, attn_implementation: str | None = None, max_length: int = 0
) -> str | None:
    """Return why a loaded model cannot take packed rows, after a trial forward pass; None if it can.

    A comb of 24 tokens goes through the model as a packed row and as plain rows. Their logits differ
    by rounding alone, those of a model that ignores position ids or mixes tokens by far more. Weights
    that are not all here (DeepSpeed ZeRO-3) are not tried.
    """
    text = model.config.get_text_config()
    if dropout := getattr(text, "attention_dropout", 0.0) or getattr(text, "attn_pdrop", 0.0):
        return f"it trains with an attention dropout of {dropout}, which packed rows do not have"
    problem = why_not_packable(model.config, attn_implementation, max_length)
    if problem is not None or any(p.is_meta or hasattr(p, "ds_id") for p in model.parameters()):
        return problem
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
    except (RuntimeError, ValueError, TypeError, AttributeError, IndexError) as failure:
        return f"a trial forward pass failed: {' '.join(str(failure).split())}"
    finally:
        model.set_attn_implementation(before)
        model.train(was_training)
    error = float((packed - plain).abs().max() / plain.abs().max())
    if error < most_error(model.dtype):
        return None
    return f"a trial forward pass gave logits {error:.2g} off those of plain rows, relative to the largest"


def _logits(model: Any, combs: Sequence[Comb], layout: RowLayout) -> torch.Tensor:
    """Return the logits of all supervised tokens, in the order of the branches."""
    collate = GattCollator(pad_token_id=0, layout=layout)
    logits = []
    for comb in combs:
        batch = {n: v.to(model.device) for n, v in collate([combs_to_features([comb])]).items()}
        with torch.no_grad():
            logits.append(supervised_logits(model, batch)[0].float())
    return torch.cat(logits)
