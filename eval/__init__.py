"""Instruction adherence over many turns: roll-outs, metrics, report.

`evaluate` does everything that `gatt eval` does; see `eval.run.evaluate`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from eval.config import EvalConfig
    from eval.run import evaluate

__all__ = ["EvalConfig", "evaluate"]

_PLACES: Final = {"EvalConfig": "eval.config", "evaluate": "eval.run"}


def __getattr__(name: str) -> Any:
    """Return a public name, imported on first use."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
