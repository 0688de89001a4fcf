"""The configuration of an engine, and the engine made from it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gatt.errors import ConfigError
from gatt.generation.base import Engine
from gatt.generation.servers.config import ServerConfig
from gatt.models.template_variables import (
    check_template_variables,
    read_variables,
    set_template_variables,
)

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from gatt.generation.local.engine import TransformersEngine


@dataclass(frozen=True, kw_only=True)
class EngineConfig:
    """A model, local or on servers, and its limits.

    Raises:
        ConfigError: a value out of its range.
    """

    model: str = "smollm2-135m-instruct"
    """A name of `gatt models`, a folder, a .gguf file, or a hub id; with `server.urls`, the name on the
    server."""
    dtype: str = "auto"
    """`auto`: float32 on a CPU, bfloat16 on a GPU. Or the name of a torch dtype. Or `int8`, on a CPU and
    without adapters: it takes half the time of float32, replies differ a little, and it is meant for sampling
    data with a large model."""
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Variables of a local model's chat template, such as `{enable_thinking: false}` for a model that
    reasons before it replies. With `server` set them in `server.extra_body`."""
    device: str = "auto"
    """`auto`: cuda if there is one, else cpu; or the name of a torch device."""
    max_rows: int = 64
    """Most replies decoded together."""
    max_cache_tokens: int | None = None
    """Most tokens in the key/value cache of one batch; limits the memory. null: 24,000 on a CPU (46 kB a token
    for the embedded model), a quarter of a GPU's free memory."""
    max_kept_tokens: int | None = None
    """Most tokens whose keys and values are stored from one turn of a roll-out to the next. Other tokens are
    encoded again. null: 48,000 on a CPU, a third of a GPU's free memory."""
    server: ServerConfig | None = None
    """null: a local model. Otherwise requests go to OpenAI-compatible endpoints (`server.urls`), or to a server
    that the run starts with `model` and its adapters (`server.start`)."""

    def __post_init__(self) -> None:
        for name in ("max_rows", "max_cache_tokens", "max_kept_tokens"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} is {value}: expected at least 1")
        check_template_variables(self.chat_template_kwargs)
        if self.chat_template_kwargs and self.server is not None:
            raise ConfigError(
                "chat_template_kwargs are for a local model, and server is set: expected them in "
                "server.extra_body, as {chat_template_kwargs: {enable_thinking: false}}"
            )

    def decisive(self) -> dict[str, Any]:
        """Return the settings that change replies, for the fingerprint of a run."""
        if self.server is None:
            settings: dict[str, Any] = {"model": self.model, "dtype": self.dtype}
            if self.chat_template_kwargs:
                settings["chat_template_kwargs"] = {**self.chat_template_kwargs}
            return settings
        return {"model": self.model, "server": self.server.decisive()}

    @property
    def has_weights(self) -> bool:
        """Whether model and adapters are files here; of servers that run elsewhere only names are known."""
        return self.server is None or self.server.start is not None

    def weights_digest(self) -> str:
        """Return the digest of the base model; empty for a server. Raises as `model_digest` does."""
        from gatt.models.digest import model_digest

        return model_digest(self.model) if self.has_weights else ""

    def adapter_digest(self, adapter: str | Path) -> str:
        """Return the digest of an adapter; empty for a server. Raises as `gatt.models.digest` does."""
        from gatt.models.digest import adapter_digest

        return adapter_digest(Path(adapter)) if self.has_weights else ""


def make_engine(config: EngineConfig, adapters: Mapping[str, str | Path] | None = None) -> Engine:
    """Return the engine of a configuration.

    `adapters` has the folder of each by its name, or the name under which it is served.

    Raises:
        ConfigError: the key of a server is missing or invalid.
        ModelError: model or adapter cannot be loaded.
        GenerationError: a server that is to be started does not answer.
    """
    if config.server is None:
        return local_engine(config, adapters)
    from gatt.generation.servers.engine import OpenAIEngine

    if config.server.start is not None:
        from gatt.generation.servers.started import start_servers

        servers = start_servers(config.server, config.model, adapters or {})
        names = {name: name for name in adapters or {}}
        return OpenAIEngine(servers.name, servers.config, adapters=names, servers=servers)
    served = {name: str(adapter) for name, adapter in (adapters or {}).items()}
    return OpenAIEngine(config.model, config.server, adapters=served)


def local_engine(
    config: EngineConfig, adapters: Mapping[str, str | Path] | None = None
) -> TransformersEngine:
    """Return the local engine with the given adapters.

    Raises:
        ConfigError: int8 with adapters or on another device than a CPU.
        ModelError: model or adapter cannot be loaded.
        TemplateError: the chat template has no such variable.
        DataError: the variables recorded beside an adapter cannot be read.
    """
    import torch

    from gatt.generation.local.cpu_linear import quantize
    from gatt.generation.local.engine import TransformersEngine
    from gatt.generation.local.model_support import cache_limits
    from gatt.models.adapter import base_model_of, check_adapter
    from gatt.models.load import load_adapter, load_model

    device = config.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    is_int8 = config.dtype == "int8"
    if is_int8 and (adapters or device != "cpu"):
        raise ConfigError(
            f"dtype int8 with {'an adapter' if adapters else f'device {device!r}'}: expected a CPU and the "
            "model alone; use auto"
        )
    for folder in (adapters or {}).values():
        # Before the model, which may take minutes.
        check_adapter(Path(folder))
    loaded = load_model(config.model, dtype="float32" if is_int8 else config.dtype, device=device)
    set_template_variables(loaded.tokenizer, config.chat_template_kwargs)
    for name, folder in (adapters or {}).items():
        trained_on = base_model_of(Path(folder))
        if trained_on and Path(trained_on).name.lower() != Path(config.model).name.lower():
            log.warning(
                "adapter %s was trained on %s and is used on %s: set the model to that one, unless both are "
                "the same", folder, trained_on, config.model,
            )  # fmt: skip
        trained_with = read_variables(Path(folder))
        if trained_with != {**config.chat_template_kwargs}:
            log.warning(
                "adapter %s was trained with chat_template_kwargs %s and is used with %s: set the same",
                folder, trained_with, {**config.chat_template_kwargs},
            )  # fmt: skip
        loaded = load_adapter(loaded, Path(folder), name)
    cache_tokens, kept_tokens = cache_limits(loaded.model)
    engine = TransformersEngine(
        loaded,
        max_rows=config.max_rows,
        max_cache_tokens=config.max_cache_tokens or cache_tokens,
        max_kept_tokens=config.max_kept_tokens or kept_tokens,
    )
    if is_int8:
        # After the engine's trial of shared prefixes, which would fail because of the rounding.
        kept = quantize(loaded.model, loaded.tokenizer)
        log.info("%s: int8, except %d layers with outlying inputs", config.model, len(kept))
    return engine
