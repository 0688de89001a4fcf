"""That every machine of a cluster finds the same model under the same name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from gatt.errors import ModelError
from gatt.generation.config import EngineConfig


def known_anywhere(engine: EngineConfig) -> EngineConfig:
    """Return an engine whose model, if it is a folder, is named as workers in other folders find it too.

    Those of a cluster that runs already stand where it was started.
    """
    from gatt.models.load import EMBEDDED

    folder = Path(engine.model).expanduser()
    if engine.server is not None or engine.model == EMBEDDED or not folder.is_dir():
        return engine
    return replace(engine, model=os.fspath(folder.absolute()))


def adapter_anywhere(engine: EngineConfig, adapter: str | Path) -> str:
    """Return the folder of an adapter in the same way; a name that it is served by stays."""
    if engine.server is not None:
        return os.fspath(adapter)
    return os.fspath(Path(adapter).absolute())


def model_digests(engine: EngineConfig, adapters: Mapping[str, str | Path]) -> dict[str, str]:
    """Return the digest of a model and of each adapter by its path; all empty where they are served.

    Raises:
        ModelError: one of them cannot be read here.
    """
    found = {engine.model: engine.weights_digest()}
    return found | {os.fspath(at): engine.adapter_digest(at) for at in adapters.values()}


def refuse_other_model(
    engine: EngineConfig, adapters: Mapping[str, str | Path], expected: Mapping[str, str]
) -> None:
    """Refuse a model or adapter that is not the one of the machine where the run was started.

    Args:
        engine: whose model it is.
        adapters: beside it, name to folder.
        expected: what `model_digests` returned there.

    Raises:
        ModelError: another one, or one that cannot be read here.
    """
    for name, digest in model_digests(engine, adapters).items():
        if digest != expected[name]:
            raise ModelError(
                f"{name}: other weights ({digest}) than where the run was started ({expected[name]}): "
                "put the same model there, or name one on a file system that all machines share"
            )
