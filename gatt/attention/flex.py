"""FlexAttention over a packed row: the geometry as a block mask.

Shapes: T tokens of the row, H query heads, K key/value heads, D head size.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.nn import functional
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

from gatt.attention.geometry import RowGeometry

BLOCK = 128
"""Block size of the mask, and the least length that a kernel is compiled for."""
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
    """Return the block mask of a row, padded to its bucket.

    Args:
        geometry: of the row.
        window: of a layer with a sliding window.
    """
    num_tokens, length = geometry.num_tokens, bucket(geometry.num_tokens)
    # A padding token is a document of its own that sees nothing and is seen by nothing.
    padded = RowGeometry(
        *(
            functional.pad(vector, (0, length - num_tokens), value=fill)
            for vector, fill in (
                (geometry.document_ids, -1),
                (geometry.branch_ids, 0),
                (geometry.visible, 0),
                (geometry.position_ids, 0),
            )
        )
    )

    def sees(
        batch: torch.Tensor,  # noqa: ARG001 - torch's signature
        head: torch.Tensor,  # noqa: ARG001
        query: torch.Tensor,
        key: torch.Tensor,
    ) -> torch.Tensor:
        return padded.sees(query, key, window)

    device = geometry.document_ids.device
    mask: BlockMask = _call(
        create_block_mask, sees, None, None, length, length, device=device,
        is_compiled=device.type == "cuda",
    )  # fmt: skip
    return mask


def flex_block_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: BlockMask,
    *,
    scale: float,
    softcap: float | None = None,
) -> torch.Tensor:
    """Return the attention output `[1, T, H, D]` of one layer.

    Args:
        query: `[1, H, T, D]`, rotated to its positions.
        key: `[1, K, T, D]`.
        value: likewise.
        mask: of `plan_block_mask`.
        scale: factor of the scores.
        softcap: scores are bent to stay below it (Gemma 2).
    """
    num_tokens = query.shape[2]
    missing = mask.shape[-1] - num_tokens
    query, key, value = (functional.pad(t, (0, 0, 0, missing)) for t in (query, key, value))
    bend = None if softcap is None else functools.partial(_bend, softcap)
    output: torch.Tensor = _call(
        flex_attention, query, key, value, score_mod=bend, block_mask=mask, scale=scale,
        enable_gqa=True, is_compiled=query.is_cuda,
    )  # fmt: skip
    return output[:, :, :num_tokens].transpose(1, 2)


def _bend(softcap: float, score: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
    return softcap * torch.tanh(score / softcap)


def _call(function: Any, *args: Any, is_compiled: bool, **kwargs: Any) -> Any:
    if not is_compiled:
        return function(*args, **kwargs)
    with torch._dynamo.config.patch(recompile_limit=MOST_KERNELS, fail_on_recompile_limit_hit=True):
        return _compiled(function)(*args, **kwargs)


@functools.cache
def _compiled(function: Any) -> Any:
    # Static shapes: a kernel a bucket. Dynamic ones reuse a wrong specialisation past the limit.
    return torch.compile(function, dynamic=False)
