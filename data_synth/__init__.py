"""Samples for training: a teacher's replies to dialogues under drawn instructions, filtered and stored.

Catalogue and sources of dialogues are in `gatt.data` and `gatt.sources`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatt.runs.short_names import short_names

if TYPE_CHECKING:
    from data_synth.config import SynthConfig
    from data_synth.pipeline import run_synth

__all__ = ["SynthConfig", "run_synth"]

__getattr__, __dir__ = short_names(
    __name__, {"SynthConfig": "data_synth.config", "run_synth": "data_synth.pipeline"}
)
