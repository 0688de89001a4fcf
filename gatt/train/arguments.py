"""The settings of a run as TRL's trainer takes them."""

from __future__ import annotations

from typing import Final

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


def checkpointing(is_on: bool) -> dict[str, bool]:
    """Return gradient checkpointing as `SFTConfig` takes it.

    Under both of its names where there are two (transformers 5.23): TRL sets the
    alias to true, and transformers warns where it stands alone.
    """
    names = ("gradient_checkpointing", "activation_checkpointing")
    return {name: is_on for name in names if name in SFTConfig.__dataclass_fields__}


def training_arguments(config: TrainConfig) -> SFTConfig:
    """Return TRL's configuration of a run; making it sets up ranks and device.

    Everything is spelled out where TRL's default differs from transformers' or
    would touch the rows.

    Raises:
        ConfigError: a value that transformers or TRL refuse, an integration that is not there, or
            sharding that Accelerate would ignore (`gatt.train.sharding.refuse_ignored_launch`).
    """
    report_to = config.report_to
    on_gpu = supports_bf16()
    bf16 = on_gpu if config.bf16 == "auto" else config.bf16
    if bf16 and not on_gpu and (torch.accelerator.is_available() or not multiplies_bfloat16()):
        raise ConfigError(
            "bf16 is true, but this device has no bfloat16: set bf16 to 'auto' or false"
        )
    try:
        args = SFTConfig(
            output_dir=str(config.output_dir),
            **{name: getattr(config, name) for name in SAME},
            # Unset, the order of rows hangs on torch's generator, which a resume moves.
            data_seed=config.seed,
            bf16=bf16,
            # transformers takes bfloat16 on a CPU only if the CPU is asked for.
            use_cpu=bf16 and not on_gpu,
            fp16=False,
            **checkpointing(config.gradient_checkpointing),
            logging_nan_inf_filter=False,
            save_strategy="steps",
            report_to=report_to if isinstance(report_to, str) else list(report_to),
            dataloader_pin_memory=torch.cuda.is_available(),
            # Every adapter weight takes part in every forward, also in one without a target.
            ddp_find_unused_parameters=False,
            average_tokens_across_devices=True,
            remove_unused_columns=False,
            dataset_kwargs={"skip_prepare_dataset": True},
            max_length=None,
            packing=False,
            padding_free=False,
            shuffle_dataset=False,
            completion_only_loss=False,
            assistant_only_loss=False,
            push_to_hub=False,
            # TRL would have mixtures of experts return router logits for a loss that is not ours.
            router_aux_loss_coef=0.0,
        )
        # What is made later is made here as well and dropped: its package may not be installed, or a
        # schedule may need more than its name.
        for integration in get_reporting_integration_callbacks(args.report_to):
            integration()
        Trainer.get_optimizer_cls_and_kwargs(args, torch.nn.Linear(1, 1))
        optimizer = torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), lr=args.learning_rate)
        get_scheduler(args.lr_scheduler_type, optimizer, num_warmup_steps=1, num_training_steps=10)
    except (ValueError, TypeError, ImportError, RuntimeError) as error:
        raise ConfigError(
            f"the training settings are refused: {' '.join(str(error).split())}"
        ) from None
    refuse_ignored_launch()
    return args
