"""The settings of a run as TRL's trainer takes them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, Final

import torch
from transformers import Trainer, get_scheduler
from transformers.integrations.integration_utils import get_reporting_integration_callbacks
from trl import SFTConfig

from gatt.errors import ConfigError
from gatt.generation.local.cpu_linear import multiplies_bfloat16
from gatt.train.config import TrainConfig
from gatt.train.runtime import supports_bf16
from gatt.train.sharding import refuse_ignored_launch

SAME: Final = (
    "learning_rate", "lr_scheduler_type", "warmup_steps", "num_train_epochs", "max_steps",
    "per_device_train_batch_size", "gradient_accumulation_steps", "optim", "weight_decay",
    "max_grad_norm", "seed", "logging_steps", "save_steps", "save_total_limit", "disable_tqdm",
)  # fmt: skip
"""Settings that TRL has under the same names."""
FORCED: Final[dict[str, Any]] = {
    "fp16": False,
    "logging_nan_inf_filter": False,
    # Every adapter weight takes part in every forward, also in one without a target.
    "ddp_find_unused_parameters": False,
    "average_tokens_across_devices": True,
    "remove_unused_columns": False,
    "dataset_kwargs": {"skip_prepare_dataset": True},
    "max_length": None,
    "packing": False,
    "padding_free": False,
    "shuffle_dataset": False,
    "completion_only_loss": False,
    "assistant_only_loss": False,
    # TRL would have mixtures of experts return router logits for a loss that is not ours.
    "router_aux_loss_coef": 0.0,
}
"""Settings of TRL that every training has alike: its rows are made and its loss is computed here."""
REFUSED: Final = (
    "fp16", "packing", "padding_free", "router_aux_loss_coef", "loss_type", "label_smoothing_factor",
    "eval_strategy", "chat_template_path", "eos_token", "model_init_kwargs",
)  # fmt: skip
"""Settings of TRL that would have no effect, or a wrong one: a user who changes them is told."""


def checkpointing(is_on: bool) -> dict[str, bool]:
    """Return gradient checkpointing as `SFTConfig` takes it.

    transformers 5.23 has two names for it, and both are set: TRL sets the alias to true, and transformers
    warns about the alias without the other name.
    """
    names = ("gradient_checkpointing", "activation_checkpointing")
    return {name: is_on for name in names if name in SFTConfig.__dataclass_fields__}


def training_arguments(config: TrainConfig) -> SFTConfig:
    """Return TRL's configuration of a run; making it sets up ranks and device.

    Everything is spelled out where TRL's default differs from transformers' or
    would touch the rows.

    Raises:
        ConfigError: a value that transformers or TRL refuse, an integration that is not there, several
            GPUs for one process, or sharding that Accelerate would ignore
            (`gatt.train.sharding.refuse_ignored_launch`).
    """
    report_to = config.report_to
    on_gpu = supports_bf16()
    bf16 = on_gpu if config.bf16 == "auto" else config.bf16
    if bf16 and not on_gpu and (torch.accelerator.is_available() or not multiplies_bfloat16()):
        raise ConfigError(
            "bf16 is true, but this device has no bfloat16: set bf16 to 'auto' or false"
        )
    with _refusals():
        args = SFTConfig(
            output_dir=str(config.output_dir),
            **{name: getattr(config, name) for name in SAME},
            # Unset, the order of rows depends on torch's generator, whose state differs after a resume.
            data_seed=config.seed,
            bf16=bf16,
            # transformers takes bfloat16 on a CPU only if the CPU is asked for.
            use_cpu=bf16 and not on_gpu,
            **checkpointing(config.gradient_checkpointing),
            save_strategy="steps",
            report_to=report_to if isinstance(report_to, str) else list(report_to),
            dataloader_pin_memory=torch.cuda.is_available(),
            push_to_hub=False,
            **FORCED,
        )
    _check(args)
    return args


def given_arguments(args: SFTConfig) -> SFTConfig:
    """Return a user's settings of TRL, changed where the rows and the loss of this project need it.

    Raises:
        ConfigError: settings that would have no effect on these rows and this loss, or what
            `training_arguments` refuses.
    """
    defaults = {field.name: field.default for field in fields(SFTConfig)}
    unread = [name for name in REFUSED if getattr(args, name) != defaults[name]]
    if unread:
        problems = "; ".join(
            f"{name} is {getattr(args, name)!r}, expected {defaults[name]!r}" for name in unread
        )
        raise ConfigError(f"args: {problems}: GattTrainer has rows and a loss of its own")
    args = copy.copy(args)
    for name, value in FORCED.items():
        setattr(args, name, value)
    args.data_seed = args.seed if args.data_seed is None else args.data_seed
    args.dataloader_pin_memory = args.dataloader_pin_memory and torch.cuda.is_available()
    _check(args)
    return args


def _check(args: SFTConfig) -> None:
    """Refuse what training would fail on later.

    What is made later is made here as well and dropped: its package may not be installed, or a
    schedule may need more than its name.
    """
    with _refusals():
        for integration in get_reporting_integration_callbacks(args.report_to):
            integration()
        Trainer.get_optimizer_cls_and_kwargs(args, torch.nn.Linear(1, 1))
        optimizer = torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), lr=args.learning_rate)
        get_scheduler(
            args.lr_scheduler_type, optimizer, num_warmup_steps=1, num_training_steps=10,
            scheduler_specific_kwargs=args.lr_scheduler_kwargs,
        )  # fmt: skip
    refuse_ignored_launch()
    if args.n_gpu > 1:
        raise ConfigError(
            f"one process sees {args.n_gpu} GPUs, expected one a process: start it with "
            "`accelerate launch`, or make one visible with CUDA_VISIBLE_DEVICES=0"
        )


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn what transformers and TRL refuse into a `ConfigError`."""
    try:
        yield
    except (ValueError, TypeError, ImportError, RuntimeError) as error:
        raise ConfigError(
            f"the training settings are refused: {' '.join(str(error).split())}"
        ) from None
