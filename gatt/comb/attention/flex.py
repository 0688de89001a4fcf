"""FlexAttention over a packed row: the geometry as a block mask.

Shapes: T tokens of the row, H query heads, K key/value heads, D head size.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.nn import functional
from torch.nn.attention.flex_attention import BlockMask, flex_attention

from gatt.comb.attention.split import soft_capped
from gatt.comb.collator import RowGeometry

BLOCK = 128
"""Block size of the mask, and the least length that a kernel is compiled for."""
MOST_PAIRS = 2**25
"""Pairs of tokens that are looked at together to find which blocks see which."""
MOST_KERNELS = 128
"""Kernels of one function: a length, a kind of layer and whether there is a gradient makes one. Behind
torch's own limit of 8 it would go on unfused, with scores T x T."""


def bucket(num_tokens: int) -> int:
    """Return the length that queries and keys are padded to: a power of two, or one and a half.

    Each length that is met compiles a kernel, so there are few. The blocks of
    the padding are empty and skipped.
    """
    power = max(BLOCK, 1 << (num_tokens - 1).bit_length())
    between = power // 4 * 3
    return between if between % BLOCK == 0 and num_tokens <= between else power


def plan_block_mask(geometry: RowGeometry, window: int | None = None) -> BlockMask:
    """Return the block mask of a row, padded to its bucket, for a layer with or without a window."""
    num_tokens, length = geometry.num_tokens, bucket(geometry.num_tokens)
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
    """Return how many pairs of a token and one that it sees each pair of blocks holds."""
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


def _function(device: torch.device) -> Any:
    return _compiled() if device.type == "cuda" else flex_attention


@functools.cache
def _compiled() -> Any:
    # Static shapes: a kernel a bucket. Dynamic ones reuse a wrong specialisation past the limit.
    # In one graph: behind a break, scores T x T would be made.
    return torch.compile(flex_attention, dynamic=False, fullgraph=True)
