"""Sharded training: FSDP2, and DeepSpeed's ZeRO.

Every process runs the same collectives in the same order, whatever rows it has. Loss, gradients and the
saved adapter are those of one process: sums in float32, the adapter in float32.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Final, cast

import torch

from gatt.errors import ConfigError
from gatt.train.runtime import current_runtime, from_main

_ASKED_BY: Final = {"ACCELERATE_USE_FSDP": "FSDP", "ACCELERATE_USE_DEEPSPEED": "DeepSpeed"}
"""Variables by which `accelerate launch` asks for sharding."""


def refuse_ignored_launch() -> None:
    """Raise a `ConfigError` where Accelerate ignores what the launcher asked for; every process calls it.

    Accelerate ignores FSDP and DeepSpeed on a CPU without a word, and without a GPU it lets each of many
    processes train alone. Call it after the training arguments were made.
    """
    from_main(_refuse_ignored_launch)


def _refuse_ignored_launch() -> None:
    runtime = current_runtime()
    kind = str(runtime.distributed_type.value)
    num_started = int(os.environ.get("WORLD_SIZE", "1"))
    for variable, name in _ASKED_BY.items():
        is_asked = os.environ.get(variable, "").lower() in ("1", "true")
        if is_asked and kind in ("NO", "MULTI_CPU"):
            raise ConfigError(
                f"accelerate's configuration asks for {name}, but Accelerate runs on {runtime.device.type} "
                f"({kind}), where it ignores it: expected GPUs and no ACCELERATE_USE_CPU; on a CPU use "
                "accelerate/ddp or accelerate/cpu1"
            )
    if num_started > runtime.num_processes:
        raise ConfigError(
            f"{num_started} processes were started, but Accelerate sees {runtime.num_processes}, so each would "
            "train alone: start them with `accelerate launch`, without GPUs with ACCELERATE_USE_CPU=true"
        )


def spreads_weights(accelerator: Any) -> bool:
    """Whether no process holds the whole model: FSDP, or ZeRO stage 3."""
    state = accelerator.state
    stage = getattr(getattr(state, "deepspeed_plugin", None), "zero_stage", 0)
    return getattr(state, "fsdp_plugin", None) is not None or stage == 3


def refuse_spread_weights(accelerator: Any, setting: str, off: str) -> None:
    """Refuse a setting that needs the whole model on each process, where none has it.

    `off` is the value of the setting that does not need it.

    Raises:
        ConfigError: says what to set.
    """
    if spreads_weights(accelerator):
        raise ConfigError(
            f"{setting}: the weights are spread over the processes (FSDP or ZeRO stage 3), but this "
            f"needs the whole model on each: set {setting}={off}, or launch with accelerate/ddp or "
            "accelerate/zero2"
        )


def sum_in_float32(accelerator: Any) -> None:
    """Let FSDP2 return losses, and add up gradients, in float32; call it before the model is sharded.

    In bfloat16 Accelerate has FSDP2 cast what a forward returns, and ours returns sums.

    Raises:
        ConfigError: FSDP of version 1.
    """
    plugin = getattr(accelerator.state, "fsdp_plugin", None)
    if plugin is None:
        return
    if plugin.fsdp_version != 2:
        raise ConfigError(
            f"accelerate's configuration has fsdp_version {plugin.fsdp_version}: expected 2, as in "
            "accelerate/fsdp2"
        )
    if plugin.mixed_precision_policy is not None:
        plugin.mixed_precision_policy = dataclasses.replace(
            plugin.mixed_precision_policy, output_dtype=torch.float32, reduce_dtype=torch.float32
        )


def any_process(accelerator: Any, value: bool) -> bool:
    """Return whether the value is true on any process; every process calls it."""
    count = torch.tensor(int(value), device=accelerator.device)
    return bool(accelerator.reduce(count, reduction="sum"))


def trained_weights(model: Any, accelerator: Any) -> dict[str, torch.Tensor] | None:
    """Return the weights of the adapter in float32, by name; every process calls it.

    None where the model itself has them. DeepSpeed's model holds copies that are rounded with `bf16`,
    FSDP's a part on each process; the main process alone gets what FSDP gathers.

    The model is sharded, and without DeepSpeed's engine.
    """
    state = accelerator.state
    if getattr(state, "deepspeed_plugin", None) is not None:
        from deepspeed.utils import safe_get_full_fp32_param

        trained = {name: w for name, w in model.named_parameters() if w.requires_grad}
        return {name: safe_get_full_fp32_param(w).cpu().clone() for name, w in trained.items()}
    if getattr(state, "fsdp_plugin", None) is not None:
        from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

        options = StateDictOptions(
            full_state_dict=True, cpu_offload=True, ignore_frozen_params=True
        )
        return cast("dict[str, torch.Tensor]", get_model_state_dict(model, options=options))
    return None
