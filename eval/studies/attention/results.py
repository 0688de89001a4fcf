"""The value of `attention.json`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from eval.records.samples import Sample
from eval.report.page.attention import SCHEMA
from eval.results.provenance import head
from eval.studies.attention.config import AttendConfig
from eval.studies.attention.statistics import (
    DIGITS,
    Looked,
    Unsighted,
    curves,
    explained,
    falls,
    heads,
    turn_records,
)
from eval.studies.attention.task import Task
from gatt.config.load import config_dict
from gatt.data.training_marks import read_marks
from gatt.verifiers import verifier_versions

NUM_MAPS: Final = 2
"""Cases whose maps are kept; the first is the picture: the one that the adapter keeps at most turns."""


def results_of(
    config: AttendConfig, task: Task, looked: Sequence[Looked], unsighted: Sequence[Unsighted]
) -> dict[str, Any]:
    """Return the value of `attention.json`."""
    return {
        "schema": SCHEMA,
        "run": head(task.config)
        | {
            "source": dict(task.source),
            "verifiers": verifier_versions(),
            "config": config_dict(config),
        },
        "arms": list(task.arms),
        "history": task.history,
        "num_dialogues": len({one.spoken.case.dialogue.id for one in looked}),
        "num_layers": len(looked[0].turns[0].mass_LH),
        "num_heads": looked[0].turns[0].mass_LH.shape[1],
        "curves": curves(looked, task.arms),
        "correlation": explained(looked, task.arms, config.seed),
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
        "turns": turn_records(looked),
        "heads": heads(looked, task.arms),
        "maps": [_map(one) for one in pictured(looked, task.arm)],
        "dropped": dict(+task.dropped),
        "notes": _notes(task, looked),
    }


def pictured(looked: Sequence[Looked], arm: str) -> list[Looked]:
    """Return all arms' views of the cases whose maps are kept; of those kept alike often the first ones."""
    num_kept = {
        one.spoken.case.id: sum(_status(one, sample) == "pass" for _, sample in one.replies())
        for one in looked
        if one.spoken.arm == arm
    }
    best = sorted(num_kept, key=lambda name: -num_kept[name])[:NUM_MAPS]
    return [one for name in best for one in looked if one.spoken.case.id == name]


def _status(one: Looked, sample: Sample) -> str | None:
    """Return whether a reply keeps the instruction; None where no rule tells, or it does not hold."""
    is_told = one.spoken.instruction.verifiers and one.spoken.holds_at(sample.turn)
    return sample.status if is_told else None


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
                "status": _status(one, sample),
                "mass": turn.bin_mass_N.round(DIGITS).tolist(),
                "peak": turn.bin_peak_N.round(DIGITS).tolist(),
            }
            for turn, sample in one.replies()
        ],
    }


def _notes(task: Task, looked: Sequence[Looked]) -> list[str]:
    found = []
    marks = read_marks(Path(task.config.adapters[task.arm]))
    dialogues = {one.spoken.case.dialogue.id: one.spoken.case.dialogue for one in looked}
    seen = sum(d in marks for d in dialogues.values()) if marks is not None else 0
    if seen:
        found.append(
            f"{seen} of {len(dialogues)} dialogues are among those that the adapter was trained on."
        )
    if not any(one.spoken.instruction.verifiers for one in looked):
        found.append(
            "No rule judges the replies (free text): attention is shown, and not held against verdicts."
        )
    if task.history == "own":
        found.append(
            "Each arm reads its own replies: the two look at different text from turn 2 on."
        )
    return found
