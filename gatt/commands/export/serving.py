"""How a folder that was exported is served."""

from __future__ import annotations

from typing import Final

_VLLM_RANK: Final = 16
"""Of the largest adapter that vLLM takes where nothing is said."""
_VLLM_RANKS: Final = (32, 64, 128, 256, 320, 512)
"""What it can be told instead."""


def vllm_line(folder: str, adapter: str, rank: int) -> str:
    """Return the command that serves a base model with an adapter beside it.

    Args:
        folder: of the base model.
        adapter: folder of the adapter; it is served as `gatt`.
        rank: of the adapter.
    """
    line = f"vllm serve {folder} --enable-lora --lora-modules gatt={adapter}"
    if rank <= _VLLM_RANK:
        return line
    room = next((known for known in _VLLM_RANKS if known >= rank), rank)
    return f"{line} --max-lora-rank {room}"
