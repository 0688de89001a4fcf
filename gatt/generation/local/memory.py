"""Default limits of the key/value cache."""

from __future__ import annotations

from typing import Any, Final

import torch

CPU_CACHE_TOKENS: Final = 24_000
CPU_KEPT_TOKENS: Final = 48_000
_CACHE_SHARE: Final = 0.25
_KEPT_SHARE: Final = 0.35
"""Share of a GPU's free memory; the rest is for logits and activations."""


def cache_limits(model: Any) -> tuple[int, int]:
    """Return the most tokens of one batch, and of the prefixes that are kept between batches.

    On a GPU they follow from the free memory; on a CPU they are small enough for any machine.
    """
    if model.device.type != "cuda":
        return CPU_CACHE_TOKENS, CPU_KEPT_TOKENS
    free, _ = torch.cuda.mem_get_info(model.device)
    num = free // bytes_per_token(model)
    return (
        max(int(num * _CACHE_SHARE), CPU_CACHE_TOKENS),
        max(int(num * _KEPT_SHARE), CPU_KEPT_TOKENS),
    )


def bytes_per_token(model: Any) -> int:
    """Return the bytes of the keys and values of one token in all layers."""
    config = model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return 2 * int(config.num_hidden_layers * heads * size * model.dtype.itemsize)
