"""The attention of packed rows as transformers calls it, and the choice of a back end.

A model whose attention implementation is `gatt_comb` takes rows of
`gatt.comb.collator.GattCollator` when its forward gets `comb_attention=`, and
anything else as SDPA would.

Shapes: T tokens of the row, H query heads, K key/value heads, D head size.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from gatt.comb.attention.flex import flex_block_attention, plan_block_mask
from gatt.comb.attention.split import attend, plan_blocks, split_attention
from gatt.comb.collator import RowGeometry
from gatt.errors import ConfigError

IMPLEMENTATION = "gatt_comb"
SLIDING = "sliding_attention"
Backend = Literal["split", "flex"]


class CombAttention:
    """Who sees whom in one packed row, in the form that a back end takes.

    Made once a forward. What depends on the kind of layer (a sliding window or
    none) is made when the first layer of the kind asks, and shared by all.

    Args:
        geometry: of the row, on the model's device.
        backend: what computes it.
    """

    def __init__(self, geometry: RowGeometry, backend: Backend) -> None:
        self._geometry = geometry
        self._backend = backend
        self._plans: dict[tuple[Any, ...], Any] = {}

    def attend(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        *,
        scale: float,
        window: int | None,
        softcap: float | None,
    ) -> torch.Tensor:
        """Return the attention output `[1, T, H, D]` of a layer.

        Args:
            query: `[1, H, T, D]`, rotated to its positions.
            key: `[1, K, T, D]`.
            value: likewise.
            scale: factor of the scores.
            window: tokens that the layer sees, itself included; None sees all.
            softcap: see `gatt.comb.attention.split.soft_capped`.
        """
        device = query.device.type
        if torch.is_autocast_enabled(device):
            # As autocast does for SDPA: rotated queries and keys come in float32.
            dtype = torch.get_autocast_dtype(device)
            query, key, value = (t.to(dtype) for t in (query, key, value))
        at = (window, query.dtype, softcap is None)
        if at not in self._plans:
            self._plans[at] = (
                plan_block_mask(self._geometry, window)
                if self._backend == "flex"
                else plan_blocks(
                    self._geometry, query.dtype, window, has_masks_only=softcap is not None
                )
            )
        compute: Any = flex_block_attention if self._backend == "flex" else split_attention
        output: torch.Tensor = compute(
            query, key, value, self._plans[at], scale=scale, softcap=softcap
        )
        return output


def comb_attention_forward(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    comb_attention: CombAttention | None = None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    **more: Any,
) -> tuple[torch.Tensor, None]:
    """Return the attention output `[B, T, H, D]` of one layer, and no weights.

    The signature is that of transformers' attention functions; without
    `comb_attention` this is its SDPA, or with a soft cap, which SDPA does not have,
    `gatt.comb.attention.split.attend`.

    Raises:
        ValueError: attention sinks (`s_aux`), which no back end has.
    """
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    if comb_attention is not None:
        if s_aux is not None:
            raise ValueError("attention sinks cannot be packed")
        window = window_of(module, sliding_window)
        output = comb_attention.attend(
            query, key, value, scale=scale, window=window, softcap=softcap
        )
        return output, None
    if softcap is not None:
        num_queries, num_keys = query.shape[2], key.shape[2]
        if attention_mask is None:
            whole = query.new_ones(num_queries, num_keys, dtype=torch.bool)
            attention_mask = whole.tril(num_keys - num_queries)
        output = attend(query, key, value, attention_mask, scale=scale, softcap=softcap)
        return output.transpose(1, 2).contiguous(), None
    plain: tuple[torch.Tensor, None] = sdpa_attention_forward(
        module, query, key, value, attention_mask, scaling=scaling, s_aux=s_aux, **more
    )
    return plain


def window_of(module: Any, sliding_window: int | None) -> int | None:
    """Return the sliding window of an attention layer, which some models do not hand over."""
    if sliding_window is not None:
        return sliding_window
    config: Any = getattr(module, "config", None)
    types = getattr(config, "layer_types", None)
    if types and types[module.layer_idx] == SLIDING:
        window: int | None = config.sliding_window
        return window
    return None


AttentionInterface.register(IMPLEMENTATION, comb_attention_forward)
AttentionMaskInterface.register(IMPLEMENTATION, sdpa_mask)


def enable_comb_attention(model: Any) -> None:
    """Make a causal LM (or PEFT around it) take `comb_attention` in its forward, from now on.

    For good, not for the time of a forward: activation checkpointing runs the
    layers again in the backward pass.
    """
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    base.set_attn_implementation(IMPLEMENTATION)


def choose_backend(attn_implementation: str | None, device: torch.device) -> Backend:
    """Return what computes the attention of packed rows.

    Args:
        attn_implementation: `sdpa` or `flex_attention`; None is FlexAttention on
            CUDA and SDPA elsewhere.
        device: that the model trains on.

    Raises:
        ConfigError: FlexAttention, where it cannot train.
    """
    is_cuda = device.type == "cuda"
    if attn_implementation == "flex_attention" and not is_cuda:
        raise ConfigError(
            "attn_implementation is 'flex_attention': it trains on CUDA only: use 'sdpa' or null"
        )
    return "flex" if is_cuda and attn_implementation in (None, "flex_attention") else "split"
