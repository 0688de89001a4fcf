"""The value of `attention.json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eval.report.page.attention import SCHEMA
from eval.results.provenance import head
from eval.studies.attention.config import AttendConfig
from eval.studies.attention.statistics import DIGITS, Looked, Unsighted, curves, falls
from eval.studies.attention.task import HISTORY, Task
from gatt.config.load import config_dict
from gatt.verifiers import verifier_versions


def results_of(
    config: AttendConfig,
    task: Task,
    looked: Sequence[Looked],
    unsighted: Sequence[Unsighted],
) -> dict[str, Any]:
    """Return the value of `attention.json`, but for the size of the model."""
    return {
        "schema": SCHEMA,
        "run": head(task.config)
        | {
            "source": dict(task.source),
            "verifiers": verifier_versions(),
            "config": config_dict(config),
        },
        "arms": list(task.arms),
        "history": HISTORY,
        "num_dialogues": len({one.spoken.case.dialogue.id for one in looked}),
        "curves": curves(looked, task.arms),
        "unsighted": {
            "falls": falls(unsighted, task.arms),
            "replies": [
                {
                    "arm": one.spoken.arm,
                    "dialogue": one.spoken.case.dialogue.id,
                    "instruction": one.spoken.instruction.id,
                    "turn": one.turn,
                    "hidden": hidden.what,
                    "num_hidden": hidden.num_tokens,
                    "reply": hidden.generation.text,
                    "status": status,
                }
                for one in unsighted
                for hidden, status in one.replies
            ],
        },
        "maps": [_map(one) for one in pictured(looked, task.arms[1])],
        "dropped": dict(+task.dropped),
        "notes": [],
    }


def pictured(looked: Sequence[Looked], arm: str) -> list[Looked]:
    """Return both arms' view of the case that an arm keeps at most turns; of several the first."""
    num_kept = {
        one.spoken.case.id: sum(sample.status == "pass" for _, sample in one.replies())
        for one in looked
        if one.spoken.arm == arm
    }
    best = max(num_kept, key=lambda name: num_kept[name])
    return [one for one in looked if one.spoken.case.id == best]


def _map(one: Looked) -> dict[str, Any]:
    return {
        "arm": one.spoken.arm,
        "dialogue": one.spoken.case.dialogue.id,
        "instruction": one.spoken.instruction.id,
        "text": one.spoken.instruction.text,
        "bins": [
            {"start": b.start, "end": b.end, "part": b.part, "turn": b.turn}
            for b in one.layout.bins
        ],
        "rows": [
            {
                "turn": turn.turn,
                "status": sample.status,
                "peak": turn.bin_peak_N.round(DIGITS).tolist(),
            }
            for turn, sample in one.replies()
        ],
    }
