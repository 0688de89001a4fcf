"""torch's attention function by kernels that need no plan for each new shape.

On recent GPUs torch would take cuDNN's, which plans every pair of lengths that it
meets for about a second; blocks of a packed row and prefixes of a conversation have
ever new ones.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

_PLANLESS: Final = [
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
]


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    *,
    scale: float,
    dropout: float = 0.0,
) -> torch.Tensor:
    """Return the attention output `[B, H, S, D]`; without a mask it is causal.

    Args:
        query: `[B, H, S, D]`.
        key: `[B, K, L, D]`, where K divides H.
        value: likewise.
        mask: bool, or added to the scores; of a shape that goes with `[B, H, S, L]`.
        scale: factor of the scores.
        dropout: share of the weights that is dropped.
    """
    repeat = query.shape[1] // key.shape[1]
    if query.is_cuda and repeat > 1:
        # Only one of the kernels takes grouped heads, and that one neither a mask nor float32.
        key, value = (t.repeat_interleave(repeat, dim=1) for t in (key, value))
    kernels: AbstractContextManager[Any] = (
        sdpa_kernel(_PLANLESS) if query.is_cuda else nullcontext()
    )
    with kernels:
        return scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=mask is None, dropout_p=dropout,
            scale=scale, enable_gqa=key.shape[1] < query.shape[1],
        )  # fmt: skip
