"""What a model must be to be trained on rows, and the fresh adapter that it gets."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from peft import LoraConfig

from gatt.config.load import config_dict
from gatt.errors import ConfigError
from gatt.models.adapter import outside_text
from gatt.train.config import TrainConfig

log = logging.getLogger(__name__)


def fresh_adapter(model: Any, config: TrainConfig) -> LoraConfig:
    """Return the adapter of `config.lora` for a model without one; layers outside its text decoder get none.

    Raises:
        ConfigError: a rank above that of every matrix of the model.
    """
    weights = (w for w in model.parameters() if w.dim() > 1 and w.is_floating_point())
    # Weights that are spread show no shape here, and those in 4 bits another one.
    most = max((min(w.shape[-2:]) for w in weights), default=config.lora.r)
    if config.lora.r > most:
        raise ConfigError(
            f"lora.r is {config.lora.r}: no matrix of {config.model} has a rank above {most}: set it to "
            "that or less"
        )
    settings = config_dict(config.lora)
    if unread := outside_text(model):
        settings["exclude_modules"] = unread
    return LoraConfig(task_type="CAUSAL_LM", **settings)


def check_positions(model: Any, name: str, num_positions: int) -> None:
    """Refuse rows longer than a table of positions, and warn where rotary positions go on.

    `num_positions` are the tokens of the longest prompt with its target.

    Raises:
        ConfigError: says what the model has.
    """
    settings = model.config.get_text_config()
    most = getattr(settings, "max_position_embeddings", None)
    if not most or num_positions <= most:
        return
    problem = (
        f"the longest prompt with its target has {num_positions} tokens, {name} {most} positions"
    )
    if not getattr(settings, "rope_parameters", None):
        raise ConfigError(f"{problem}: set max_length to {most} or less")
    log.warning("%s: it was not made for more; set max_length to %d or less", problem, most)


@contextmanager
def adapter_errors(name: str) -> Iterator[None]:
    """Turn what PEFT and TRL say of an adapter that does not fit a model into a `ConfigError`."""
    try:
        yield
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(
            f"the adapter does not fit {name}: {' '.join(str(error).split())}: see lora.target_modules"
        ) from None
