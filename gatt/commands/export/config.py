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
        ConfigError: settings that do not go together.
    """

    adapter: Path
    """Folder of the adapter, as `gatt train` leaves it."""
    output_dir: Path
    """Folder to make; must not be there yet."""
    model: str | None = None
    """Its base model: a name, a folder, or a hub id; null takes the one that the adapter names."""
    merge: bool = True
    """Add the adapter to the weights, for any server. With false the folder holds the base model as it is,
    and the adapter in `adapter/`: for servers that load adapters by name (vLLM's `--lora-modules`)."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Of the weights in the folder; auto is that of the base model. The sum is rounded to it once."""
    results: Path | None = None
    """Folder of an evaluation of this adapter (`gatt eval`); its rates go into the card."""
    arm: str | None = None
    """The adapter's arm in `results`; null takes the only one, or `gatt`."""
    name: str | None = None
    """What the card calls the model; null takes the name of `output_dir`."""
    license: str | None = None
    """The licence in the card, as the hub spells it (`apache-2.0`); null takes the base model's, where
    its folder says it."""

    def __post_init__(self) -> None:
        if self.arm is not None and self.results is None:
            raise ConfigError(f"arm is {self.arm!r} without results: expected both, or neither")
        for key in ("model", "name", "license"):
            value = getattr(self, key)
            if value is not None and not value.strip():
                raise ConfigError(f"{key} is empty: expected some text, or null")
