"""From single replies to what is reported: means over dialogues, and the fall without the instruction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from eval.config import BASE
from eval.metrics.statistics.clustered import Ways
from eval.metrics.statistics.paired_interval import paired_interval
from eval.records.samples import Sample
from eval.studies.attention.layout import Layout
from eval.studies.attention.masked import INTACT, Hidden
from eval.studies.attention.task import Spoken
from eval.studies.attention.weights import TurnAttention
from gatt.verifiers.base import Status

DIGITS = 6
"""Of the shares in `attention.json`."""


@dataclass(frozen=True)
class Looked:
    """One arm's replies to one case, and where each looked."""

    spoken: Spoken
    layout: Layout
    turns: tuple[TurnAttention, ...]

    def replies(self) -> Iterable[tuple[TurnAttention, Sample]]:
        """Yield each reply's attention with its verdict."""
        by_turn = {s.turn: s for s in self.spoken.samples}
        return ((turn, by_turn[turn.turn]) for turn in self.turns)


@dataclass(frozen=True)
class Unsighted:
    """The replies under each mask to the last turn of a case, judged."""

    spoken: Spoken
    turn: int
    replies: tuple[tuple[Hidden, Status], ...]


def curves(looked: Sequence[Looked], arms: Sequence[str]) -> list[dict[str, Any]]:
    """Return attention on the instruction over turns, mean over dialogues, as flat records.

    Metrics: `mass` and `peak` of each arm, and `mass_difference`, the adapter's mass
    less the base model's over the dialogues that both have. `even` is the mass that
    attention alike to all tokens would give.
    """
    cells: dict[tuple[str, int], dict[str, list[TurnAttention]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for one in looked:
        for reply in one.turns:
            cells[one.spoken.arm, reply.turn][one.spoken.case.dialogue.id].append(reply)
    records = []
    for arm, turn in sorted(cells, key=lambda cell: (list(arms).index(cell[0]), cell[1])):
        found, shared = cells[arm, turn], {"arm": arm, "turn": turn}
        even = round(float(np.mean(list(_by_dialogue(found, "even").values()))), DIGITS)
        for metric in ("mass", "peak"):
            records.append(shared | _record(metric, _by_dialogue(found, metric)) | {"even": even})
        base = cells.get((BASE, turn), {}) if arm != BASE else {}
        ours, theirs = _by_dialogue(found, "mass"), _by_dialogue(base, "mass")
        common = {name: ours[name] - theirs[name] for name in ours if name in theirs}
        if common:
            records.append(shared | _record("mass_difference", common))
    return records


def falls(unsighted: Sequence[Unsighted], arms: Sequence[str]) -> list[dict[str, Any]]:
    """Return the fall of adherence at the last turn with tokens hidden, per arm and mask.

    Pairs are the replies of one case with all tokens in sight and without; those with
    an undecided one are left out and counted. `num_changed` replies differ in any
    letter: a model that keeps no instruction has no adherence to lose.
    """
    records = []
    for arm in arms:
        members = [u for u in unsighted if u.spoken.arm == arm]
        masks = list(dict.fromkeys(h.what for u in members for h, _ in u.replies))
        for what in (m for m in masks if m != INTACT):
            rows, num_changed = [], 0
            for one in members:
                by_mask = {h.what: (h.generation.text, status) for h, status in one.replies}
                (text, before), (other, after) = by_mask[INTACT], by_mask[what]
                num_changed += text != other
                if "undecided" not in (before, after):
                    rows.append((one, before == "pass", after == "pass"))
            counts = {"num_replies": len(members), "num_changed": num_changed}
            records.append(
                _fall(arm, what, rows) | counts | {"num_undecided": len(members) - len(rows)}
            )
    return records


def interval(values: Sequence[float]) -> tuple[float, float | None, float | None]:
    """Return the mean of independent values with its 95 % interval after Student; none for a single one."""
    array = np.array(values)
    mean, num = float(array.mean()), len(array)
    if num < 2:
        return mean, None, None
    error = float(stdtrit(num - 1, 0.975) * array.std(ddof=1)) / num**0.5
    return mean, mean - error, mean + error


def _by_dialogue(found: Mapping[str, Sequence[TurnAttention]], metric: str) -> dict[str, float]:
    """Return the mean of each dialogue, which may stand under several instructions."""
    return {
        name: float(np.mean([getattr(turn, metric) for turn in turns]))
        for name, turns in found.items()
    }


def _record(metric: str, values: Mapping[str, float]) -> dict[str, Any]:
    # Student's interval does not know the bounds of a share.
    least = -1.0 if metric == "mass_difference" else 0.0
    mean, low, high = (
        None if v is None else round(min(1.0, max(least, v)), DIGITS)
        for v in interval(list(values.values()))
    )
    return {
        "metric": metric,
        "value": mean,
        "low": low,
        "high": high,
        "num_dialogues": len(values),
    }


def _fall(arm: str, what: str, rows: Sequence[tuple[Unsighted, bool, bool]]) -> dict[str, Any]:
    record: dict[str, Any] = {"arm": arm, "hidden": what, "num_pairs": len(rows)}
    if not rows:
        return record | dict.fromkeys(("intact", "unsighted", "fall", "low", "high"))
    keys = [
        (u.spoken.case.dialogue.id, u.spoken.instruction.id, u.spoken.case.id) for u, _, _ in rows
    ]
    codes = [
        np.unique([key[place] for key in keys], return_inverse=True)[1].astype(np.int64)
        for place in range(3)
    ]
    before, after = (np.array([row[place] for row in rows], dtype=np.int64) for place in (1, 2))
    found = paired_interval(before - after, Ways(*codes))
    return record | {
        "intact": float(before.mean()),
        "unsighted": float(after.mean()),
        "fall": found.difference,
        "low": found.low,
        "high": found.high,
    }
