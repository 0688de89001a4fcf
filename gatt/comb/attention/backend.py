"""The attention of packed rows as transformers calls it, and the choice of a back end.

A model whose attention implementation is `gatt_comb` takes rows of
`gatt.comb.collator.GattCollator` when its forward gets `comb_attention=`, and
anything else as SDPA would.

Shapes: T tokens of the row, H query heads, K key/value heads, D head size.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch.nn import functional
from torch.nn.attention.flex_attention import BlockMask, flex_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from gatt.comb.attention.lengths import BLOCK, padded_length
from gatt.comb.attention.split import attend, plan_blocks, soft_capped, split_attention
from gatt.comb.collator import RowGeometry
from gatt.errors import ConfigError

MOST_PAIRS = 2**25
"""Pairs of tokens that are looked at together to find which blocks see which."""
MOST_KERNELS = 128
"""Kernels of one function: a length, a kind of layer and whether there is a gradient makes one. Behind
torch's own limit of 8 it would go on unfused, with scores T x T."""
IMPLEMENTATION = "gatt_comb"
SLIDING = "sliding_attention"
Backend = Literal["split", "flex"]


class CombAttention:
    """Who sees whom in one packed row, in the form that a back end takes.

    Made once a forward. What depends on the kind of layer (a sliding window or
    none) is made when the first layer of the kind asks, and shared by all.

    A row is padded to the next of `lengths`, which rise: FlexAttention is compiled for them.
    """

    def __init__(
        self, geometry: RowGeometry, backend: Backend, lengths: Sequence[int] = ()
    ) -> None:
        self._geometry = geometry
        self._backend = backend
        self._lengths = lengths
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

        `query` is `[1, H, T, D]`, rotated to its positions, `key` and `value` are `[1, K, T, D]`. A `window`
        counts the token itself; None sees all. `softcap` is that of `gatt.comb.attention.split.soft_capped`.
        """
        device = query.device.type
        if torch.is_autocast_enabled(device):
            # As autocast does for SDPA: rotated queries and keys come in float32.
            dtype = torch.get_autocast_dtype(device)
            query, key, value = (t.to(dtype) for t in (query, key, value))
        at = (window, query.dtype, softcap is None)
        if at not in self._plans:
            self._plans[at] = (
                plan_block_mask(self._geometry, window, self._lengths)
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
    **kwargs: Any,
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
        module, query, key, value, attention_mask, scaling=scaling, s_aux=s_aux, **kwargs
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

    `attn_implementation` is `sdpa` or `flex_attention`; None is FlexAttention on CUDA and SDPA elsewhere.

    Raises:
        ConfigError: FlexAttention, where it cannot train.
    """
    is_cuda = device.type == "cuda"
    if attn_implementation == "flex_attention" and not is_cuda:
        raise ConfigError(
            "attn_implementation is 'flex_attention': it trains on CUDA only: use 'sdpa' or null"
        )
    return "flex" if is_cuda and attn_implementation in (None, "flex_attention") else "split"


def plan_block_mask(
    geometry: RowGeometry, window: int | None = None, lengths: Sequence[int] = ()
) -> BlockMask:
    """Return the block mask of a row, padded by `padded_length`, for a layer with or without a window."""
    num_tokens, length = geometry.num_tokens, padded_length(geometry.num_tokens, lengths)
    # A padding token is a document of its own that sees nothing and is seen by nothing.
    fills = {"document_ids": -1, "branch_ids": 0, "visible": 0, "position_ids": 0}
    missing = (0, length - num_tokens)
    padded = RowGeometry(
        **{n: functional.pad(getattr(geometry, n), missing, value=f) for n, f in fills.items()}
    )

    def sees(
        batch: torch.Tensor,  # noqa: ARG001 - torch's signature
        head: torch.Tensor,  # noqa: ARG001
        query: torch.Tensor,
        key: torch.Tensor,
    ) -> torch.Tensor:
        return padded.sees(query, key, window)

    seen = _pairs_seen(padded, window)
    is_whole = seen == BLOCK * BLOCK
    # Counted and ordered here, since `create_block_mask` makes all T x T pairs at once, or is
    # compiled, which takes minutes at some lengths (torch 2.11 sorts within a kernel).
    mask: BlockMask = BlockMask.from_kv_blocks(
        *_listed((seen > 0) & ~is_whole), *_listed(is_whole),
        BLOCK_SIZE=BLOCK, mask_mod=sees, seq_lengths=(length, length),
    )  # fmt: skip
    return mask


def _pairs_seen(geometry: RowGeometry, window: int | None) -> torch.Tensor:
    """Return for each pair of blocks how many of its (query, key) pairs the mask allows."""
    length, device = geometry.num_tokens, geometry.document_ids.device
    keys = torch.arange(length, device=device)
    step = max(MOST_PAIRS // (length * BLOCK), 1) * BLOCK
    parts = []
    for start in range(0, length, step):
        queries = keys[start : start + step, None]
        seen = geometry.sees(queries, keys[None], window)
        parts.append(seen.view(-1, BLOCK, length // BLOCK, BLOCK).sum((1, 3)))
    return torch.cat(parts)


def _listed(blocks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return how many key blocks each query block has, and those first, in order: `[1, 1, …]`."""
    order = blocks.int().argsort(dim=-1, descending=True, stable=True)
    return blocks.sum(-1, dtype=torch.int32)[None, None], order.int()[None, None]


def flex_block_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: BlockMask,
    *,
    scale: float,
    softcap: float | None = None,
) -> torch.Tensor:
    """Return the attention output `[1, T, H, D]` of one layer; see `CombAttention.attend`."""
    num_tokens = query.shape[2]
    missing = mask.shape[-1] - num_tokens
    query, key, value = (functional.pad(t, (0, 0, 0, missing)) for t in (query, key, value))
    cap = None if softcap is None else functools.partial(_capped, softcap)
    with torch._dynamo.config.patch(recompile_limit=MOST_KERNELS, fail_on_recompile_limit_hit=True):
        output: torch.Tensor = _function(query.device)(
            query, key, value, score_mod=cap, block_mask=mask, scale=scale, enable_gqa=True
        )
    return output[:, :, :num_tokens].transpose(1, 2)


def _capped(softcap: float, score: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
    return soft_capped(score, softcap)


@functools.cache
def _function(device: torch.device) -> Any:
    # Static shapes: a kernel a length. Dynamic ones reuse a wrong specialisation past the limit.
    # In one graph: behind a break, scores T x T would be made.
    is_cuda = device.type == "cuda"
    return (
        torch.compile(flex_attention, dynamic=False, fullgraph=True) if is_cuda else flex_attention
    )
