"""Where the metrics of a training run go besides the log: the integrations of transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from transformers.integrations import TensorBoardCallback
from transformers.integrations.integration_utils import (
    INTEGRATION_TO_CALLBACK,
    get_available_reporting_integrations,
)

from gatt.errors import ConfigError
from gatt.runs.suggest import did_you_mean

NONE: Final = "none"
ALL: Final = "all"
LOGS: Final = "logs"
"""Folder of TensorBoard's files below the run's own."""


def reporting_names(report_to: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the integrations that a run reports to, each once.

    Args:
        report_to: their names; `all` stands for those that are installed, `none` for nothing.

    Raises:
        ConfigError: a name that transformers does not know, or `none` beside others.
    """
    given = (report_to,) if isinstance(report_to, str) else report_to
    if NONE in given and len(given) > 1:
        raise ConfigError(f"report_to is {list(given)}: expected 'none' alone, or without it")
    known = [*INTEGRATION_TO_CALLBACK, ALL, NONE]
    for name in given:
        if name not in known:
            raise ConfigError(
                f"report_to: transformers has no integration {name!r}{did_you_mean(name, known)} "
                f"(known: {', '.join(known)})"
            )
    installed = {ALL: get_available_reporting_integrations(), NONE: []}
    return tuple(dict.fromkeys(name for one in given for name in installed.get(one, [one])))


def reporting_callbacks(report_to: str | tuple[str, ...], output_dir: Path) -> list[Any]:
    """Return the callbacks of a run's integrations.

    Args:
        report_to: see `reporting_names`.
        output_dir: of the run.

    Raises:
        ConfigError: an unknown name, or an integration that is not installed or not set up.
    """
    callbacks = []
    for name in reporting_names(report_to):
        try:
            callback: Any = INTEGRATION_TO_CALLBACK[name]()
        except (RuntimeError, ImportError, ValueError) as error:
            raise ConfigError(
                f"report_to: {name!r} cannot be used: {' '.join(str(error).split())} "
                "Or choose another, such as 'tensorboard' or 'none'"
            ) from None
        if isinstance(callback, TensorBoardCallback):
            callback.logging_dir = str(output_dir / LOGS)
        callbacks.append(callback)
    return callbacks
