"""The value of `attention.json`: means over dialogues, the fall with the instruction hidden, the map."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
from scipy import stats

from eval.config import BASE
from eval.metrics.statistics.clustered import Ways
from eval.metrics.statistics.paired_interval import paired_interval
from eval.records.samples import Sample
from eval.studies.attention.layout import Layout
from eval.studies.attention.masked import INTACT
from eval.studies.attention.task import Spoken
from eval.studies.attention.weights import TurnAttention
from gatt.verifiers.base import Status

DIGITS: Final = 6
"""Of the shares in `attention.json`."""


@dataclass(frozen=True)
class Looked:
    """One arm's replies to one case, and where each looked."""

    spoken: Spoken
    layout: Layout
    turns: tuple[TurnAttention, ...]
    hidden: Mapping[str, tuple[str, Status]] = field(default_factory=dict)
    """What is hidden -> the reply to its last turn and its status; none for turn 1."""

    def replies(self) -> Iterable[tuple[TurnAttention, Sample]]:
        """Yield each reply's attention with its verdict."""
        by_turn = {s.turn: s for s in self.spoken.samples}
        return ((turn, by_turn[turn.turn]) for turn in self.turns)


def curves(looked: Sequence[Looked], arms: Sequence[str]) -> list[dict[str, Any]]:
    """Return attention on the instruction over turns, mean over dialogues, as flat records.

    Metrics: `mass` of each arm, and `mass_difference`, the adapter's mass less the base model's over
    the dialogues that both have. `even` is the mass of equal attention to all tokens.
    """
    cells: dict[tuple[str, int], list[tuple[str, TurnAttention]]] = defaultdict(list)
    for one in looked:
        for reply in one.turns:
            cells[one.spoken.arm, reply.turn].append((one.spoken.case.dialogue.id, reply))
    records = []
    for arm, turn in sorted(cells, key=lambda cell: (list(arms).index(cell[0]), cell[1])):
        shared, found = {"arm": arm, "turn": turn}, cells[arm, turn]
        ours = _means((name, reply.mass) for name, reply in found)
        even = np.mean(list(_means((name, reply.even) for name, reply in found).values()))
        records.append(shared | _record("mass", ours) | {"even": round(float(even), DIGITS)})
        theirs = _means((name, r.mass) for name, r in cells.get((BASE, turn), ()) if arm != BASE)
        common = {name: ours[name] - theirs[name] for name in ours if name in theirs}
        if common:
            records.append(shared | _record("mass_difference", common))
    return records


def falls(looked: Sequence[Looked], arms: Sequence[str]) -> list[dict[str, Any]]:
    """Return the fall of adherence at the last turn, by arm and by what is hidden.

    A pair is the two replies to one case with all tokens visible and with some hidden. Pairs with an
    undecided reply are left out and counted. `num_changed` counts replies that differ in any letter:
    a model that keeps no instruction has no adherence to lose.
    """
    records = []
    for arm in arms:
        members = [one for one in looked if one.spoken.arm == arm and one.hidden]
        kinds = dict.fromkeys(what for one in members for what in one.hidden)
        for what in (kind for kind in kinds if kind != INTACT):
            pairs, num_changed = [], 0
            for one in members:
                (text, before), (other, after) = one.hidden[INTACT], one.hidden[what]
                num_changed += text != other
                if "undecided" not in (before, after):
                    pairs.append((one.spoken, before == "pass", after == "pass"))
            records.append(
                {"arm": arm, "hidden": what, "num_pairs": len(pairs)}
                | _fall(pairs)
                | {
                    "num_replies": len(members),
                    "num_changed": num_changed,
                    "num_undecided": len(members) - len(pairs),
                }
            )
    return records


def maps(looked: Sequence[Looked], arm: str) -> list[dict[str, Any]]:
    """Return both arms' maps of the case that an arm keeps at most turns; of several the first."""
    num_kept = {
        one.spoken.case.id: sum(sample.status == "pass" for _, sample in one.replies())
        for one in looked
        if one.spoken.arm == arm
    }
    best = max(num_kept, key=lambda name: num_kept[name])
    return [
        {
            "arm": one.spoken.arm,
            "dialogue": one.spoken.case.dialogue.id,
            "instruction": one.spoken.instruction.id,
            "text": one.spoken.instruction.text,
            "bins": [asdict(b) for b in one.layout.bins],
            "rows": [
                {
                    "turn": turn.turn,
                    "status": sample.status,
                    "peak": turn.bin_peak_N.round(DIGITS).tolist(),
                }
                for turn, sample in one.replies()
            ],
        }
        for one in looked
        if one.spoken.case.id == best
    ]


def interval(values: Sequence[float]) -> tuple[float, float | None, float | None]:
    """Return the mean of independent values with Student's 95 % interval; no interval of one value."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None, None
    error = float(stats.sem(values) * stats.t.ppf(0.975, len(values) - 1))
    return mean, mean - error, mean + error


def _means(values: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the mean of each dialogue, which may stand under several instructions."""
    found: dict[str, list[float]] = defaultdict(list)
    for name, value in values:
        found[name].append(value)
    return {name: float(np.mean(several)) for name, several in found.items()}


def _record(metric: str, values: Mapping[str, float]) -> dict[str, Any]:
    # Student's interval does not know the bounds of a share.
    least = -1.0 if metric == "mass_difference" else 0.0
    bounds = (
        None if v is None else round(min(1.0, max(least, v)), DIGITS)
        for v in interval(list(values.values()))
    )
    names = ("value", "low", "high")
    return {"metric": metric, **dict(zip(names, bounds, strict=True)), "num_dialogues": len(values)}


def _fall(pairs: Sequence[tuple[Spoken, bool, bool]]) -> dict[str, Any]:
    if not pairs:
        return dict.fromkeys(("intact", "unsighted", "fall", "low", "high"))
    names = [(s.case.dialogue.id, s.instruction.id, s.case.id) for s, _, _ in pairs]
    codes = (np.unique(column, return_inverse=True)[1] for column in zip(*names, strict=True))
    before, after = (np.array([pair[place] for pair in pairs], dtype=np.int64) for place in (1, 2))
    found = paired_interval(before - after, Ways(*(c.astype(np.int64) for c in codes)))
    return {
        "intact": float(before.mean()),
        "unsighted": float(after.mean()),
        "fall": found.difference,
        "low": found.low,
        "high": found.high,
    }
