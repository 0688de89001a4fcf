"""Instruction adherence over many turns: roll-outs, metrics, report.

`evaluate` does everything that `gatt eval` does; see `eval.run.evaluate`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatt.runs.short_names import short_names

if TYPE_CHECKING:
    from eval.config import EvalConfig
    from eval.run import evaluate

__all__ = ["EvalConfig", "evaluate"]

__getattr__, __dir__ = short_names(__name__, {"EvalConfig": "eval.config", "evaluate": "eval.run"})
