"""What a machine has, how large a model is, and the settings of a run that follow from both."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from gatt.runs.provenance import provenance

GB: Final = 1e9


@dataclass(frozen=True)
class Machine:
    """What a model may use here."""

    model_bytes: int
    """Memory for a model and its training: of the first GPU, else what is free of the main memory."""
    device: Literal["cuda", "cpu"] = "cpu"
    """That a run takes."""
    has_vllm: bool = False
    """Whether vLLM is installed beside this package."""
    has_bfloat16: bool = False
    """Whether it computes in bfloat16: a GPU, or a processor with instructions for it."""

    @classmethod
    def here(cls) -> Machine:
        """Return this machine."""
        import torch

        from gatt.generation.local.cpu_linear import multiplies_bfloat16

        if torch.cuda.is_available():
            has_vllm = importlib.util.find_spec("vllm") is not None
            return cls(torch.cuda.mem_get_info(0)[1], "cuda", has_vllm, has_bfloat16=True)
        info = Path("/proc/meminfo")
        # What is available counts caches that can be dropped.
        text = info.read_text(encoding="ascii") if info.exists() else ""
        if match := re.search(r"MemAvailable:\s+(\d+) kB", text):
            size = int(match[1]) * 1024
        else:
            size = int((provenance([])["memory_gib"] or 0) * 2**30)
        return cls(size, has_bfloat16=multiplies_bfloat16())

    @property
    def weight_bytes(self) -> int:
        """Bytes of one weight."""
        return 2 if self.has_bfloat16 else 4


def num_weights(model: str) -> int | None:
    """Return about how many weights a model has, from its files or else its name; None if neither says.

    Nothing is downloaded or loaded.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        size = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
        text = (folder / "config.json").read_text(encoding="utf-8", errors="replace")
        is_float32 = re.search(r'"(?:torch_)?dtype":\s*"float32"', text) is not None
        return size // (4 if is_float32 else 2) or None
    # "8x7B" has fewer weights than 56 billion, since experts share layers; that is the safe side.
    pattern = r"(?i)(?<![\w.])(?:(\d+)x)?(\d+(?:\.\d+)?)([bm])(?![a-z])"
    match = re.search(pattern, Path(model).name)
    if match is None:
        return None
    return int(float(match[2]) * int(match[1] or 1) * (1e9 if match[3] in "bB" else 1e6))


def in_words(number: int | None) -> str:
    """Return a number of weights as people write it."""
    if number is None:
        return "of unknown size"
    size, word = (1e9, "billion") if number >= 1e9 else (1e6, "million")
    return f"{number / size:.3g} {word} weights"


RATES: Final = (
    (
        300e6,
        1e-3,
        "measured with 135 million weights: half of it showed no difference (results/README.md)",
    ),
    (1e9, 1e-3, "tried with 0.5 billion weights on the six examples (docs/guides/own_data.md)"),
    (3e9, 2e-4, "rests on no measurement: the usual one for LoRA at this size"),
    (12e9, 1e-4, "rests on no measurement: the usual one for LoRA at this size"),
    (float("inf"), 5e-5, "rests on no measurement: the usual one for LoRA at this size"),
)
"""Up to how many weights, which learning rate, and what it rests on."""
_UNKNOWN: Final = 8e9
_LORA_BYTES: Final = 0.01 * 16
"""Of a weight of the model: about one weight of the adapter in a hundred, with gradient and Adam's means."""


@dataclass(frozen=True)
class Settings:
    """What `run.yaml` sets by model and machine."""

    learning_rate: float
    why_rate: str
    is_small: bool
    """Whether the model copies a history that it is shown, as one of 135 million weights does."""
    has_bfloat16: bool
    """Whether all stages compute in bfloat16 on a processor; on a GPU they do by themselves."""
    has_int8: bool
    """Whether the teacher computes in int8: half the time of float32 on a processor, which a small model need
    not."""
    max_rows: int
    starts_vllm: bool
    """Whether sampling and evaluation go through a vLLM that the run starts itself."""
    memory: str
    """One line on what the model takes and what there is."""
    is_too_large: bool
    """Whether the model does not fit the machine, whatever is set."""
    load_in_4bit: bool
    gradient_checkpointing: bool


def choose_settings(weights: int | None, machine: Machine) -> Settings:
    """Return the settings for a model on a machine.

    Unknown weights are taken for 8 billion.
    """
    number, has_gpu = weights or _UNKNOWN, machine.device == "cuda"
    rate, why = next((rate, why) for most, rate, why in RATES if number <= most)
    has = machine.model_bytes
    # A fifth is left for activations, and for what else runs there.
    plain = number * (machine.weight_bytes + _LORA_BYTES) / 0.8
    packed = number * (0.6 + _LORA_BYTES) / 0.8
    is_packed = plain > has and has_gpu
    needs = packed if is_packed else plain
    kind = "4-bit" if is_packed else "bfloat16" if machine.has_bfloat16 else "float32"
    return Settings(
        learning_rate=rate,
        why_rate=why,
        is_small=number <= RATES[0][0],
        has_bfloat16=machine.has_bfloat16 and not has_gpu,
        has_int8=not machine.has_bfloat16 and number > RATES[0][0],
        max_rows=64 if has_gpu or number <= RATES[0][0] else 32,
        starts_vllm=has_gpu and machine.has_vllm,
        memory=f"{number * (0.6 if is_packed else machine.weight_bytes) / GB:.2g} GB of {kind} weights, "
        f"{needs / GB:.2g} GB to train; this machine has {has / GB:.2g} GB",
        # Engines hold plain weights.
        is_too_large=max(needs, number * machine.weight_bytes) > has,
        load_in_4bit=is_packed,
        gradient_checkpointing=needs > has / 2,
    )
