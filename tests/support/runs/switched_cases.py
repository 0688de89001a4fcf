"""Cases whose instruction changes in mid-dialogue, under "You enjoy tennis."."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eval.config import EvalConfig
from eval.records.case import Case, Reply
from eval.records.samples import Sample
from eval.scoring.verdict import judge
from gatt.data.switches import Switch
from gatt.generation.base import Generation
from gatt.sources.config import SourceConfig
from tests.support.runs.stages import dialogue
from tests.support.runs.switched import hobby

TENNIS = hobby("tennis")


def case(*switches: Switch, num_turns: int = 5) -> Case:
    return Case("c", dialogue(1, num_turns), TENNIS, TENNIS.probes[0], switches=switches)


def config(**changes: Any) -> EvalConfig:
    settings: dict[str, Any] = {
        "output_dir": Path("out"),
        "arms": ("base", "base+reminder"),
        "source": SourceConfig(name="jsonl", path="d.jsonl", min_turns=5, max_turns=5),
        "turns": (1, 2, 3, 4, 5),
        "probe_turns": (2, 3, 5),
    }
    return EvalConfig(**(settings | changes))


def judged(of: Case, turn: int, text: str, kind: Any = "turn") -> Sample:
    reply = Reply(of, turn, kind, of.user_turn(turn), Generation(text, "stop", 5))
    return judge(reply, "base", "own", ())
