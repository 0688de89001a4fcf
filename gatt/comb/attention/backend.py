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
from gatt.comb.attention.sdpa import attend
from gatt.comb.attention.split import plan_blocks, split_attention
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
        dropout: float,
    ) -> torch.Tensor:
        """Return the attention output `[1, T, H, D]` of a layer.

        Args:
            query: `[1, H, T, D]`, rotated to its positions.
            key: `[1, K, T, D]`.
            value: likewise.
            scale: factor of the scores.
            window: tokens that the layer sees, itself included; None sees all.
            softcap: see `gatt.comb.attention.sdpa.soft_capped`.
            dropout: share of the weights that training drops.
        """
        device = query.device.type
        if torch.is_autocast_enabled(device):
            # As autocast does for SDPA: rotated queries and keys come in float32.
            dtype = torch.get_autocast_dtype(device)
            query, key, value = (t.to(dtype) for t in (query, key, value))
        at = (window, query.dtype, softcap is None)
        if self._backend == "flex":
            if at not in self._plans:
                self._plans[at] = plan_block_mask(self._geometry, window)
            return flex_block_attention(
                query, key, value, self._plans[at], scale=scale, softcap=softcap
            )
        if at not in self._plans:
            self._plans[at] = plan_blocks(
                self._geometry, query.dtype, window, has_masks_only=softcap is not None
            )
        return split_attention(
            query, key, value, self._plans[at], scale=scale, softcap=softcap, dropout=dropout
        )


def comb_attention_forward(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    comb_attention: CombAttention | None = None,
    dropout: float = 0.0,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    **more: Any,
) -> tuple[torch.Tensor, None]:
    """Return the attention output `[1, T, H, D]` of one layer, and no weights.

    The signature is that of transformers' attention functions; without
    `comb_attention` this is its SDPA, or with a soft cap, which SDPA does not have,
    `gatt.comb.attention.sdpa.attend`.

    Raises:
        ValueError: attention sinks (`s_aux`), which no back end has.
    """
    if comb_attention is None and softcap is not None:
        return _capped_attention(
            module, query, key, value, attention_mask,
            scale=query.shape[-1] ** -0.5 if scaling is None else scaling,
            softcap=softcap, dropout=dropout if module.training else 0.0,
        ), None  # fmt: skip
    if comb_attention is None:
        plain: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask,
            dropout=dropout, scaling=scaling, softcap=softcap, s_aux=s_aux, **more,
        )  # fmt: skip
        return plain
    if s_aux is not None:
        raise ValueError("attention sinks cannot be packed")
    output = comb_attention.attend(
        query,
        key,
        value,
        scale=query.shape[-1] ** -0.5 if scaling is None else scaling,
        window=window_of(module, sliding_window),
        softcap=softcap,
        dropout=dropout if module.training else 0.0,
    )
    return output, None


def _capped_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    **settings: Any,
) -> torch.Tensor:
    """Return the attention output `[B, T, H, D]` of a plain batch with a soft cap.

    Args:
        module: the layer.
        query: `[B, H, T, D]`.
        key: `[B, K, S, D]`.
        value: likewise.
        mask: of `sdpa_mask`: `[B, 1, T, S]`, true where a key is seen; None is causal, or for one
            query all.
        settings: of `gatt.comb.attention.sdpa.attend`.
    """
    num_queries, num_keys = query.shape[2], key.shape[2]
    if mask is None:
        mask = query.new_ones(num_queries, num_keys, dtype=torch.bool)
        if num_queries > 1 and getattr(module, "is_causal", True):
            mask = mask.tril(num_keys - num_queries)
    seen = mask if mask.dtype == torch.bool else mask == 0
    return attend(query, key, value, seen, **settings).transpose(1, 2).contiguous()


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


def choose_backend(
    attn_implementation: str | None, device: torch.device, attention_dropout: float = 0.0
) -> Backend:
    """Return what computes the attention of packed rows.

    Args:
        attn_implementation: `sdpa` or `flex_attention`; None is FlexAttention on
            CUDA and SDPA elsewhere.
        device: that the model trains on.
        attention_dropout: of the model, which FlexAttention does not have.

    Raises:
        ConfigError: FlexAttention, where it cannot train.
    """
    if attn_implementation == "flex_attention":
        why = "it trains on CUDA only" if device.type != "cuda" else ""
        if attention_dropout:
            why = f"it has no dropout, and the model's attention_dropout is {attention_dropout}"
        if why:
            raise ConfigError(f"attn_implementation is 'flex_attention': {why}: use 'sdpa' or null")
    if attn_implementation is None:
        return "flex" if device.type == "cuda" and not attention_dropout else "split"
    return "flex" if attn_implementation == "flex_attention" else "split"
