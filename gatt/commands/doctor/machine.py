"""What a machine has, and how large a model is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gatt.runs.provenance import provenance

GB: Final = 1e9


@dataclass(frozen=True)
class Place:
    """Where a model can lie: the main memory, or a CUDA device."""

    name: str
    free_bytes: int
    all_bytes: int

    def __str__(self) -> str:
        return f"{self.name} ({self.free_bytes / GB:.1f} of {self.all_bytes / GB:.1f} GB free)"


@dataclass(frozen=True)
class Machine:
    """Memory and devices that this process may use."""

    memory: Place
    gpus: tuple[Place, ...] = ()

    @classmethod
    def here(cls) -> Machine:
        """Return this machine."""
        import torch

        about = provenance([])
        most = free = int((about["memory_gib"] or 0) * 2**30)
        info = Path("/proc/meminfo")
        if info.exists():
            # What is available counts caches that can be dropped.
            found = re.search(r"MemAvailable:\s+(\d+) kB", info.read_text(encoding="ascii"))
            free = int(found[1]) * 1024 if found else free
        gpus = [
            Place(torch.cuda.get_device_name(n), *torch.cuda.mem_get_info(n))
            for n in range(torch.cuda.device_count())
        ]
        return cls(Place(f"{about['num_cpus']} cores", free, most), tuple(gpus))

    @property
    def device(self) -> str:
        """That a run takes."""
        return "cuda" if self.gpus else "cpu"

    @property
    def model_bytes(self) -> int:
        """Memory for a model and its training: of the first GPU, else what is free of the main memory."""
        return self.gpus[0].all_bytes if self.gpus else self.memory.free_bytes

    @property
    def weight_bytes(self) -> int:
        """Bytes of one weight: bfloat16 on a GPU, float32 on a processor."""
        return 2 if self.gpus else 4

    def __str__(self) -> str:
        return ", ".join(map(str, (self.memory, *(self.gpus or ("no CUDA device",)))))


def num_weights(model: str) -> int | None:
    """Return about how many weights a model has, from its files or else its name; None if neither says.

    Args:
        model: as `model:` takes it; nothing is downloaded or loaded.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        size = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
        text = (folder / "config.json").read_text(encoding="utf-8", errors="replace")
        is_float32 = re.search(r'"(?:torch_)?dtype":\s*"float32"', text) is not None
        return size // (4 if is_float32 else 2) or None
    # "8x7B" has fewer weights than 56 billion, since experts share layers; that is the safe side.
    pattern = r"(?i)(?<![\w.])(?:(\d+)x)?(\d+(?:\.\d+)?)([bm])(?![a-z])"
    found = re.search(pattern, Path(model).name)
    if found is None:
        return None
    return int(float(found[2]) * int(found[1] or 1) * (1e9 if found[3] in "bB" else 1e6))


def in_words(number: int | None) -> str:
    """Return a number of weights as people write it."""
    if number is None:
        return "of unknown size"
    size, word = (1e9, "billion") if number >= 1e9 else (1e6, "million")
    return f"{number / size:.3g} {word} weights"
