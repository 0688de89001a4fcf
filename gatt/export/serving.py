"""How a folder that was exported is served."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from gatt.adapter import SETTINGS

_VLLM_RANK: Final = 16
"""Of the largest adapter that vLLM takes where nothing is said."""
_VLLM_RANKS: Final = (32, 64, 128, 256, 320, 512)
"""What it can be told instead."""


def adapter_rank(folder: Path) -> int:
    """Return the largest rank in an adapter that PEFT has read."""
    settings: dict[str, Any] = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    ranks: list[int] = [settings.get("r") or 0, *(settings.get("rank_pattern") or {}).values()]
    return max(ranks)


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
