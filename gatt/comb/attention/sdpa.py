"""Plain attention: torch's function by kernels that need no plan for each new shape, and with a soft cap.

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
    SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH
]  # fmt: skip


def soft_capped(scores: torch.Tensor, softcap: float) -> torch.Tensor:
    """Return scores that stay between -softcap and softcap (Gemma 2, arXiv:2408.00118, section 2)."""
    return softcap * torch.tanh(scores / softcap)


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    *,
    scale: float,
    softcap: float | None = None,
) -> torch.Tensor:
    """Return the attention output `[B, H, S, D]`; without a mask it is causal.

    Args:
        query: `[B, H, S, D]`.
        key: `[B, K, L, D]`, where K divides H.
        value: likewise.
        mask: bool, or added to the scores; of a shape that goes with `[B, H, S, L]`.
        scale: factor of the scores.
        softcap: see `soft_capped`; no kernel has it, so all scores are held at once.
    """
    repeat = query.shape[1] // key.shape[1]
    if repeat > 1 and (query.is_cuda or softcap is not None):
        # Only one of the kernels takes grouped heads, and that one neither a mask nor float32.
        key, value = (t.repeat_interleave(repeat, dim=1) for t in (key, value))
    if softcap is None:
        kernels: AbstractContextManager[Any] = (
            sdpa_kernel(_PLANLESS) if query.is_cuda else nullcontext()
        )
        with kernels:
            return scaled_dot_product_attention(
                query, key, value, attn_mask=mask, is_causal=mask is None, scale=scale,
                enable_gqa=key.shape[1] < query.shape[1],
            )  # fmt: skip
    scores = soft_capped(query @ key.transpose(-1, -2) * scale, softcap)
    if mask is None:
        mask = scores.new_ones(scores.shape[-2:], dtype=torch.bool).tril()
    if mask.dtype == torch.bool:
        # Finite, since a padded query sees nothing.
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    else:
        scores = scores + mask
    precise = torch.promote_types(scores.dtype, torch.float32)
    return scores.softmax(-1, dtype=precise).to(query.dtype) @ value
