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

SMALLEST_BUCKET = 128
"""Block size of the mask, and the least length that a kernel is compiled for."""


def bucket(num_tokens: int) -> int:
    """Return the length that queries and keys are padded to: the next power of two.

    Each length that is met compiles a kernel, so there are few. The blocks of
    the padding are empty and skipped, so it costs next to nothing.
    """
    return max(SMALLEST_BUCKET, 1 << (num_tokens - 1).bit_length())


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
    make = _compiled(create_block_mask) if device.type == "cuda" else create_block_mask
    mask: BlockMask = make(sees, None, None, length, length, device=device)
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
    attend = _compiled(flex_attention) if query.is_cuda else flex_attention
    bend = None if softcap is None else functools.partial(_bend, softcap)
    output: torch.Tensor = attend(
        query, key, value, score_mod=bend, block_mask=mask, scale=scale, enable_gqa=True
    )
    return output[:, :, :num_tokens].transpose(1, 2)


def _bend(softcap: float, score: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
    return softcap * torch.tanh(score / softcap)


@functools.cache
def _compiled(function: Any) -> Any:
    # Static shapes: a kernel a bucket. Dynamic ones reuse a wrong specialisation past the limit.
    return torch.compile(function, dynamic=False)
