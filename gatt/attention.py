"""From the vectors of a packed row to what the attention of the model needs.

Shapes: T tokens of the row.
"""

from __future__ import annotations

import torch

from gatt.comb import TRUNK


def comb_mask(
    document_ids_T: torch.Tensor,
    branch_ids_T: torch.Tensor,
    visible_T: torch.Tensor,
    position_ids_T: torch.Tensor,
) -> torch.Tensor:
    """Return which tokens each token sees: bool `[T, T]`, query rows, key columns.

    A query q sees a key k of its own document if k stands in the trunk among
    the first `visible[q]` tokens, or in q's own branch no later than q. Trunk
    positions count from 0 within the document, so position and index agree.
    """
    same_document = document_ids_T[:, None] == document_ids_T[None, :]
    key_in_trunk = (branch_ids_T == TRUNK)[None, :]
    in_visible_trunk = key_in_trunk & (position_ids_T[None, :] < visible_T[:, None])
    own_branch = (branch_ids_T[:, None] == branch_ids_T[None, :]) & ~key_in_trunk
    in_branch_before = own_branch & (position_ids_T[None, :] <= position_ids_T[:, None])
    return same_document & (in_visible_trunk | in_branch_before)


def model_mask(
    mask_TT: torch.Tensor, attn_implementation: str | None, dtype: torch.dtype
) -> torch.Tensor:
    """Return the mask as `[1, 1, T, T]` in the form that the implementation takes.

    SDPA masks with booleans; eager attention *adds* the mask, so there it must
    be 0 and the lowest number instead.

    Raises:
        ValueError: an implementation that takes no 4-D mask.
    """
    if attn_implementation == "sdpa":
        return mask_TT[None, None]
    if attn_implementation == "eager":
        zero = torch.zeros((), dtype=dtype, device=mask_TT.device)
        lowest = torch.full((), torch.finfo(dtype).min, dtype=dtype, device=mask_TT.device)
        return torch.where(mask_TT, zero, lowest)[None, None]
    raise ValueError(f"attention implementation {attn_implementation!r} takes no 4-D mask")


def why_not_packable(config: object) -> str | None:
    """Return why a model of this configuration cannot take packed rows; None if it can.

    Simple form: one mask serves all layers, so sliding windows and recurrent
    layers are out, and so is an attention that takes no 4-D mask.
    """
    layer_types = set(getattr(config, "layer_types", None) or ())
    if layer_types - {"full_attention"}:
        return f"it has layers of type {', '.join(sorted(layer_types - {'full_attention'}))}"
    if getattr(config, "sliding_window", None) and getattr(config, "use_sliding_window", True):
        return f"its attention has a sliding window of {config.sliding_window} tokens"  # type: ignore[attr-defined]
    implementation = getattr(config, "_attn_implementation", None)
    if implementation not in ("sdpa", "eager"):
        return f"its attention implementation {implementation!r} takes no 4-D mask"
    return None
