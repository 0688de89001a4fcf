"""Samples and cases whose instruction changes in mid-dialogue, under "You enjoy tennis."."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eval.config import EvalConfig
from eval.records.case import Case
from eval.records.samples import Sample
from eval.scoring.verdict import Reply, check_by_rules
from gatt.data.sample import GattSample
from gatt.data.switches import Switch
from gatt.generation.base import Generation
from gatt.sources.config import SourceConfig
from tests.support.models.tiny import sample
from tests.support.runs.stages import dialogue, hobby


def to(value: str, turn: int = 2, place: Any = "user") -> Switch:
    """Return the change to another hobby."""
    return Switch(turn, "replace", place, f"Now instead: You enjoy {value}.", hobby(value))


def cancel(turn: int = 2, place: Any = "user") -> Switch:
    """Return the change to nothing."""
    return Switch(turn, "cancel", place, "No more of that.", None)


def switched(switches: Sequence[Switch], num_turns: int = 3, **changes: Any) -> GattSample:
    """Return a sample under "You enjoy tennis." with these changes."""
    made = replace(sample(1, num_turns, **changes), instruction=hobby("tennis"))
    return replace(made, switches=tuple(switches))


TENNIS = hobby("tennis")


def case(*switches: Switch, num_turns: int = 5) -> Case:
    return Case("c", dialogue(1, num_turns), TENNIS, TENNIS.probes[0], switches=switches)


def config(**changes: Any) -> EvalConfig:
    settings: dict[str, Any] = {
        "output_dir": Path("out"),
        "arms": ("base", "base+system+reminder"),
        "source": SourceConfig(name="jsonl", path="d.jsonl", min_turns=5, max_turns=5),
        "turns": (1, 2, 3, 4, 5),
        "probe_turns": (2, 3, 5),
    }
    return EvalConfig(**(settings | changes))


def judged(of: Case, turn: int, text: str, kind: Any = "turn") -> Sample:
    reply = Reply(of, turn, kind, of.user_turn(turn), Generation(text, "stop", 5))
    return check_by_rules(reply, "base", "own", ())
