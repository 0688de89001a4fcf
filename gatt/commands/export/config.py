"""The configuration of `gatt export`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class ExportConfig:
    """An adapter, and the folder of the merged model."""

    adapter: Path
    """Folder of the adapter, as `gatt train` writes it."""
    output_dir: Path
    """Folder to make; it must not exist."""
    model: str | None = None
    """The base model: a name, a folder, or a hub id; null takes the one that the adapter names."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Type of the weights in the folder, to which the merged weights are rounded once; `auto`: that of the base
    model."""
    results: Path | None = None
    """Folder of an evaluation of this adapter (`gatt eval`); its rates go into the card."""
    license: str | None = None
    """The licence on the card, as the hub spells it (`apache-2.0`); null takes that on the card of the base
    model's folder, if there is one."""
