"""Which model answers, and how its engine is made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gatt.errors import ConfigError

if TYPE_CHECKING:
    from gatt.generation.transformers import TransformersEngine


@dataclass(frozen=True, kw_only=True)
class EngineConfig:
    """A local model and its limits.

    Raises:
        ConfigError: a value out of its range.
    """

    model: str = "smollm2-135m-instruct"
    """The embedded model by name, a folder, or a hub id."""
    dtype: str = "auto"
    """float32 on CPU and bfloat16 on GPU, or a torch dtype's name."""
    device: str = "auto"
    """cuda where there is one, else cpu; or a torch device's name."""
    max_rows: int = 64
    """Most replies decoded together."""
    max_cache_tokens: int = 24_000
    """Most tokens whose keys and values one batch holds; bounds the memory."""

    def __post_init__(self) -> None:
        if self.max_rows < 1:
            raise ConfigError(f"max_rows is {self.max_rows}: expected at least 1")
        if self.max_cache_tokens < 1:
            raise ConfigError(f"max_cache_tokens is {self.max_cache_tokens}: expected at least 1")


def make_engine(
    config: EngineConfig, adapters: dict[str, Path] | None = None
) -> TransformersEngine:
    """Return the local engine, with the given adapters loaded beside the base model.

    Raises:
        ModelError: model or adapter cannot be loaded.
    """
    import torch

    from gatt.generation.transformers import TransformersEngine
    from gatt.models import load_adapter, load_model

    device = config.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    loaded = load_model(config.model, dtype=config.dtype, device=device)
    for name, folder in (adapters or {}).items():
        loaded = load_adapter(loaded, folder, name)
    return TransformersEngine(
        loaded, max_rows=config.max_rows, max_cache_tokens=config.max_cache_tokens
    )
