"""Configuration of `gatt export`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gatt.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class ExportConfig:
    """An adapter, and the folder that is made of it.

    Raises:
        ConfigError: `arm` without `results`.
    """

    adapter: Path
    """Folder of the adapter, as `gatt train` leaves it."""
    output_dir: Path
    """Folder to make; it must not exist."""
    model: str | None = None
    """Its base model: a name, a folder, or a hub id; null takes the one that the adapter names."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Of the weights in the folder; auto is that of the base model. The sum is rounded to it once."""
    results: Path | None = None
    """Folder of an evaluation of this adapter (`gatt eval`); its rates go into the card."""
    arm: str | None = None
    """The adapter's arm in `results`; null takes the only adapter, or `gatt`."""
    license: str | None = None
    """The licence on the card, as the hub spells it (`apache-2.0`); null takes that of the base
    model's folder, where its card states one."""

    def __post_init__(self) -> None:
        if self.arm is not None and self.results is None:
            raise ConfigError(f"arm is {self.arm!r} without results: expected both, or neither")
