"""Makes an engine on other machines, and checks that its model is the same as on the first one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from gatt.errors import ModelError
from gatt.generation.base import Engine
from gatt.generation.config import EngineConfig, make_engine
from gatt.models.packaged.table import PACKAGED


@dataclass(frozen=True)
class EngineAnywhere:
    """Makes a configured engine in a worker, if the digests are those of the machine that started the run."""

    config: EngineConfig
    adapters: Mapping[str, str]
    """Name of each adapter to its folder, or to the name under which it is served."""
    digests: Mapping[str, str]
    """Of the model and of each adapter, on the machine that started the run."""

    @classmethod
    def of(cls, config: EngineConfig, adapters: Mapping[str, str | Path]) -> EngineAnywhere:
        """Return the maker for a configuration; call it on the machine that starts the run.

        Relative folders become absolute: workers of a running cluster have another working folder.

        Raises:
            ModelError: model or adapter cannot be read.
        """
        found = {name: os.fspath(at) for name, at in adapters.items()}
        if config.server is None:
            found = {name: os.fspath(Path(at).absolute()) for name, at in adapters.items()}
            folder = Path(config.model).expanduser()
            if config.model not in PACKAGED and folder.is_dir():
                config = replace(config, model=os.fspath(folder.absolute()))
        return cls(config, found, _digests(config, found))

    def __call__(self) -> Engine:
        """Return the engine.

        Raises:
            ModelError: other weights, or they cannot be read.
        """
        for name, digest in _digests(self.config, self.adapters).items():
            if digest != self.digests[name]:
                raise ModelError(
                    f"{name}: other weights ({digest}) than on the machine that started the run "
                    f"({self.digests[name]}): copy the same model there, or use one on a shared file system"
                )
        return make_engine(self.config, self.adapters)


def _digests(config: EngineConfig, adapters: Mapping[str, str]) -> dict[str, str]:
    """Return the digests of a model and of each adapter; empty ones where they are served."""
    found = {config.model: config.weights_digest()}
    return found | {at: config.adapter_digest(at) for at in adapters.values()}
