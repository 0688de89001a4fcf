"""The hint after "unknown …": the known word that was probably meant. No torch here."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from typing import Final

OTHER_NAMES: Final = {
    "model_name_or_path": ("model", "engine.model", "teacher.engine.model"),
    "base_model": ("model", "engine.model", "teacher.engine.model"),
    "dataset_name": ("samples", "source.path"),
    "dataset": ("samples", "source.path"),
    "dataset_path": ("samples", "source.path"),
    "dataset_config": ("source.config_name",),
    "dataset_train_split": ("source.split",),
    "adapter_name_or_path": ("init_adapter", "adapter", "adapters"),
    "lora_r": ("lora.r",),
    "lora_rank": ("lora.r",),
    "lora_target": ("lora.target_modules",),
    "lora_target_modules": ("lora.target_modules",),
    "cutoff_len": ("max_length",),
    "sequence_len": ("max_length",),
    "max_seq_length": ("max_length",),
    "packing": ("pack_rows",),
    "micro_batch_size": ("per_device_train_batch_size",),
    "batch_size": ("per_device_train_batch_size", "batch_cases", "batch_samples"),
    "epochs": ("num_train_epochs",),
    "num_epochs": ("num_train_epochs",),
    "warmup_ratio": ("warmup_steps",),
    "dtype": ("bf16", "engine.dtype"),
    "fp16": ("bf16",),
    "quantization_bit": ("load_in_4bit",),
    "torch_dtype": ("bf16", "dtype", "engine.dtype"),
    "eval_steps": ("track.every_steps",),
    "eval_strategy": ("track",),
    "resume_from_checkpoint": ("resume",),
    "overwrite_output_dir": ("resume",),
    "max_tokens": ("sampling.max_new_tokens", "teacher.sampling.max_new_tokens", "max-new-tokens"),
    "base_url": ("server.urls", "engine.server.urls", "teacher.engine.server.urls"),
    "hub_model_id": ("repo_id",),
    "hub_private_repo": ("private",),
}
"""What TRL, transformers, axolotl, LLaMA-Factory and servers call a setting, and our keys for it."""


def nearest(word: object, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the most similar known word, whatever its case; None without a similar one.

    Args:
        word: the unknown word, such as a key of a file.
        known: the known words.
        cutoff: least similarity, from 0 to 1.
    """
    spelled = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(str(word).casefold(), spelled, n=1, cutoff=cutoff)
    return spelled[close[0]] if close else None


def did_you_mean(word: object, known: Iterable[str], otherwise: str = "") -> str:
    """Return `, did you mean '…'?`, to be written after the unknown word; else `otherwise`."""
    near = nearest(word, known)
    return f", did you mean {near!r}?" if near is not None else otherwise


def our_name(word: str, known: Collection[str], beside: str = "") -> str | None:
    """Return the key that another tool's name of a setting stands for; None for no such name.

    Args:
        word: the name, with `_` or `-`.
        known: the keys there are.
        beside: the dotted key of the mapping that the word stands in.
    """
    places = [f"{beside}." if beside else "", "", "train."]
    names = OTHER_NAMES.get(word.replace("-", "_"), ())
    return next((f"{p}{name}" for p in places for name in names if f"{p}{name}" in known), None)
