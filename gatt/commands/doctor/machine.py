"""What a machine has, and how large a model is. No torch before it is asked for devices."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gatt.models.packaged.table import PACKAGED

GB: Final = 1e9


@dataclass(frozen=True)
class Gpu:
    """One CUDA device."""

    name: str
    free_bytes: int
    all_bytes: int


@dataclass(frozen=True)
class Machine:
    """Processors, memory and devices that this process may use."""

    num_cores: int
    free_bytes: int
    """Of the main memory."""
    all_bytes: int
    gpus: tuple[Gpu, ...] = ()

    @classmethod
    def here(cls) -> Machine:
        """Return this machine."""
        import torch

        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        page = os.sysconf("SC_PAGE_SIZE")
        free, most = (os.sysconf(f"SC_{name}_PAGES") * page for name in ("AVPHYS", "PHYS"))
        info = Path("/proc/meminfo")
        if info.exists():
            # Unlike free pages, what is available counts caches that can be dropped.
            found = re.search(r"MemAvailable:\s+(\d+) kB", info.read_text(encoding="ascii"))
            free = int(found[1]) * 1024 if found else free
        gpus = []
        for number in range(torch.cuda.device_count()):
            free_there, all_there = torch.cuda.mem_get_info(number)
            gpus.append(Gpu(torch.cuda.get_device_name(number), free_there, all_there))
        return cls(cores or 1, free, most, tuple(gpus))

    @property
    def model_bytes(self) -> int:
        """Memory for a model and its training: of the first GPU, else the main memory."""
        return self.gpus[0].all_bytes if self.gpus else self.free_bytes

    @property
    def weight_bytes(self) -> int:
        """Bytes of one weight: bfloat16 on a GPU, float32 on a processor."""
        return 2 if self.gpus else 4

    def __str__(self) -> str:
        parts = [(f"{self.num_cores} cores", self.free_bytes, self.all_bytes)]
        parts += [(gpu.name, gpu.free_bytes, gpu.all_bytes) for gpu in self.gpus]
        told = [
            f"{name} ({free / GB:.1f} of {most / GB:.1f} GB free)" for name, free, most in parts
        ]
        return ", ".join(told if self.gpus else [*told, "no CUDA device"])


def num_weights(model: str) -> int | None:
    """Return about how many weights a model has, from its files or else its name; None if neither says.

    Nothing is downloaded or loaded.

    Args:
        model: as `model:` takes it.
    """
    if model in PACKAGED:
        return PACKAGED[model].unpacked_bytes // 4
    folder = Path(model).expanduser()
    if folder.is_dir():
        size = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
        text = (folder / "config.json").read_text(encoding="utf-8", errors="replace")
        is_float32 = re.search(r'"(?:torch_)?dtype":\s*"float32"', text) is not None
        return size // (4 if is_float32 else 2) or None
    # "8x7B" has fewer weights than 56 billion, since experts share layers; that is the safe side.
    found = re.search(
        r"(?<![\w.])(?:(\d+)x)?(\d+(?:\.\d+)?)([bm])(?![a-z])", Path(model).name, re.IGNORECASE
    )
    if found is None:
        return None
    number = float(found[2]) * int(found[1] or 1)
    return int(number * (1e9 if found[3] in "bB" else 1e6))


def in_words(number: int | None) -> str:
    """Return a number of weights as people write it."""
    if number is None:
        return "of unknown size"
    return (
        f"{number / 1e9:.2g} billion weights"
        if number >= 1e9
        else f"{number / 1e6:.3g} million weights"
    )
