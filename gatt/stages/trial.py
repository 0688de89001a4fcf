"""A trial of some seconds: how fast a model reads, samples and trains on this machine. Writes nothing."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from peft import LoraConfig, get_peft_model

from gatt.config.load import config_dict
from gatt.errors import ModelError
from gatt.models.load import load_model, resolve
from gatt.models.packaged import PACKAGED
from gatt.stages.machine import GB, Machine, num_weights
from gatt.train.config import LoraSettings

_TOKENS: Final = 128
_ROWS: Final = 8
_STEPS: Final = 4


@dataclass(frozen=True)
class Trial:
    """Measured speed of a model; rates are in tokens a second."""

    num_weights: int
    """Of the model with its adapter."""
    load_seconds: float
    read_rate: float
    sample_rate: float
    """Of `_ROWS` replies together."""
    train_rate: float
    seconds: float
    """Of the whole trial."""

    def __str__(self) -> str:
        return (
            f"{self.seconds:.0f} s; tokens a second: {self.read_rate:.3g} read, {self.sample_rate:.3g} "
            f"sampled, {self.train_rate:.3g} trained"
        )


def try_model(name: str) -> Trial:
    """Return what a model does on this machine.

    Raises:
        ModelError: it is not on this machine yet, does not fit, or cannot be loaded.
    """
    _refuse_absent(name)
    machine = Machine.here()
    size = (num_weights(name) or 0) * machine.weight_bytes
    if size > machine.model_bytes:
        raise ModelError(
            f"{name}: {size / GB:.1f} GB of weights, and this machine has {machine.model_bytes / GB:.1f} GB"
        )
    began = time.monotonic()
    with warnings.catch_warnings():
        # Renamed attributes that one library still reads of another are no news to a user.
        warnings.filterwarnings("ignore", category=FutureWarning)
        base = load_model(name, device=machine.device).model
        load_seconds = time.monotonic() - began
        lora = LoraConfig(task_type="CAUSAL_LM", **config_dict(LoraSettings()))
        model: Any = get_peft_model(base, lora)
        size = model.config.get_text_config().vocab_size
        ids = torch.arange(_TOKENS, device=machine.device).remainder(size)[None]
        with torch.no_grad():
            read_seconds = _time(lambda: model(input_ids=ids, logits_to_keep=1))
            rows = ids[:, : _TOKENS // _ROWS].expand(_ROWS, -1)
            cache = model(input_ids=rows, use_cache=True, logits_to_keep=1).past_key_values
            step = rows[:, :1]
            sample_seconds = _time(lambda: model(input_ids=step, past_key_values=cache), _STEPS)

        def train() -> None:
            logits = model(input_ids=ids, logits_to_keep=_TOKENS // 4).logits
            logits.float().logsumexp(-1).sum().backward()

        train_seconds = _time(train)
    return Trial(
        num_weights=sum(p.numel() for p in model.parameters()),
        load_seconds=load_seconds,
        read_rate=_TOKENS / read_seconds,
        sample_rate=_ROWS / sample_seconds,
        train_rate=_TOKENS / train_seconds,
        seconds=time.monotonic() - began,
    )


def _refuse_absent(name: str) -> None:
    """Refuse a model that would have to be downloaded or converted, which writes files."""
    from huggingface_hub import try_to_load_from_cache

    if name in PACKAGED:
        if not PACKAGED[name].is_here:
            raise ModelError(f"{name} is not on this machine yet: gatt models get {name}")
        return
    if name.endswith(".gguf"):
        raise ModelError(f"{name} is converted when it is first used")
    is_of_hub = resolve(name) == name and not Path(name).expanduser().is_dir()
    if is_of_hub and not isinstance(try_to_load_from_cache(name, "config.json"), str):
        raise ModelError(f"{name} is not on this machine yet: a run downloads it")


def _time(call: Callable[[], object], times: int = 1) -> float:
    """Return the seconds of a call, the first one aside, which warms up."""
    call()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    began = time.monotonic()
    for _ in range(times):
        call()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return max((time.monotonic() - began) / times, 1e-9)
