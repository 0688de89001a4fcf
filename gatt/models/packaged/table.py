"""The models that come as Python packages. No torch here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml


@dataclass(frozen=True, kw_only=True)
class PackagedModel:
    """A model in a package index: one GGUF file in one or more wheels."""

    name: str
    """The value of `model:` in a configuration."""
    purpose: str
    """Its use, in a few words."""
    package: str
    """`name==version` of the package whose wheel holds the file; `{part}` stands for 1, 2, 3, … where
    the file is cut into several packages."""
    num_packages: int = 1
    file: str
    """Name of the GGUF file."""
    num_bytes: int
    sha256: str
    """Of the whole file."""
    unpacked_bytes: int
    """Size as float32 safetensors, about."""
    license: str
    hub_id: str
    """The model on the hub that the file was quantised from."""
    hub_repo: str | None = None
    """Repository on the hub that holds the same file."""

    @property
    def packages(self) -> list[str]:
        """The packages, in the order of the parts."""
        return [self.package.format(part=n) for n in range(1, self.num_packages + 1)]

    @property
    def folder(self) -> Path:
        """The folder of the converted model."""
        return cache_folder() / self.name

    @property
    def is_here(self) -> bool:
        """Whether the converted model exists."""
        return (self.folder / "config.json").is_file()

    @property
    def note(self) -> str:
        """The sentence for the card of an adapter whose base is this model."""
        quantisation = self.file.removesuffix(".gguf").rpartition(".")[2].rpartition("instruct-")[2]
        return (
            f"`{self.name}` is `{self.hub_id}` from a file of 4-bit weights ({quantisation.upper()}), unpacked "
            "to float32: its replies differ a little from those of the weights on the hub."
        )


def cache_folder() -> Path:
    """Return where converted models are stored: `$GATT_CACHE`, else the user's cache."""
    return Path(os.environ.get("GATT_CACHE") or Path.home() / ".cache" / "ghost-attention")


EMBEDDED: Final = "smollm2-135m-instruct"
"""Name of the default model, which `make install` brings."""
PACKAGED: Final = {
    row["name"]: PackagedModel(**row)
    for row in yaml.safe_load(Path(__file__).with_name("models.yaml").read_text(encoding="utf-8"))
}
"""Name to model."""
