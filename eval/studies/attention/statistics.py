"""The value of `attention.json`: means over dialogues, the fall with the instruction hidden, the map."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
from scipy import stats

from eval.config import BASE
from eval.metrics.intervals import Ways, paired_interval
from eval.records.case import Case
from eval.studies.attention.layout import Bin
from eval.studies.attention.measure import INTACT, TurnAttention
from gatt.verifiers.base import Status

DIGITS: Final = 6
"""Of the shares in `attention.json`."""


@dataclass(frozen=True)
class Looked:
    """Where one arm's replies to one case looked."""

    case: Case
    arm: str
    bins: tuple[Bin, ...]
    turns: tuple[TurnAttention, ...]
    hidden: Mapping[str, tuple[str, Status]] = field(default_factory=dict)
    """What is hidden -> the reply to its last turn and its status; none for turn 1."""


def curves(looked: Sequence[Looked], arms: Sequence[str]) -> list[dict[str, Any]]:
    """Return attention on the instruction over turns, mean over dialogues, as flat records.

    Metrics: `mass` of each arm, and `mass_difference`, the adapter's mass less the base model's over
    the dialogues that both have. `even` is the mass of equal attention to all tokens.
    """
    cells: dict[tuple[str, int], list[tuple[str, TurnAttention]]] = defaultdict(list)
    for one in looked:
        for reply in one.turns:
            cells[one.arm, reply.sample.turn].append((one.case.dialogue.id, reply))
    records = []
    for arm, turn in sorted(cells, key=lambda cell: (list(arms).index(cell[0]), cell[1])):
        shared, found = {"arm": arm, "turn": turn}, cells[arm, turn]
        ours = _means((name, reply.mass) for name, reply in found)
        even = float(np.mean(list(_means((name, r.even) for name, r in found).values())))
        records.append(shared | _record("mass", ours) | {"even": round(even, DIGITS)})
        theirs = _means((name, r.mass) for name, r in cells.get((BASE, turn), ()) if arm != BASE)
        if common := {name: ours[name] - theirs[name] for name in ours if name in theirs}:
            records.append(shared | _record("mass_difference", common))
    return records


def _means(values: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the mean of each dialogue, which may stand under several instructions."""
    found: dict[str, list[float]] = defaultdict(list)
    for name, value in values:
        found[name].append(value)
    return {name: float(np.mean(several)) for name, several in found.items()}


def _record(metric: str, by_dialogue: Mapping[str, float]) -> dict[str, Any]:
    """Return a mean with Student's 95 % interval, which does not know the bounds of a share."""
    values = list(by_dialogue.values())
    mean, half = float(np.mean(values)), None
    if len(values) > 1:
        half = float(stats.sem(values) * stats.t.ppf(0.975, len(values) - 1))
    least = -1.0 if metric == "mass_difference" else 0.0
    return {
        "metric": metric,
        "value": round(mean, DIGITS),
        "low": None if half is None else round(max(least, mean - half), DIGITS),
        "high": None if half is None else round(min(1.0, mean + half), DIGITS),
        "num_dialogues": len(values),
    }


def falls(looked: Sequence[Looked], arms: Sequence[str]) -> list[dict[str, Any]]:
    """Return the fall of adherence at the last turn, by arm and by what is hidden.

    A pair is the two replies to one case with all tokens visible and with some hidden. Pairs with an
    undecided reply are left out and counted. `num_changed` counts replies that differ in any letter:
    a model that keeps no instruction has no adherence to lose.
    """
    records = []
    for arm in arms:
        members = [one for one in looked if one.arm == arm and one.hidden]
        for what in [what for what in (members[0].hidden if members else ()) if what != INTACT]:
            statuses = [(one.hidden[INTACT][1], one.hidden[what][1]) for one in members]
            pairs = [
                (one.case, before == "pass", after == "pass")
                for one, (before, after) in zip(members, statuses, strict=True)
                if "undecided" not in (before, after)
            ]
            counts = {
                "num_replies": len(members),
                "num_changed": sum(o.hidden[INTACT][0] != o.hidden[what][0] for o in members),
                "num_undecided": len(members) - len(pairs),
            }
            record = {"arm": arm, "hidden": what, "num_pairs": len(pairs)}
            records.append(record | _fall(pairs) | counts)
    return records


def _fall(pairs: Sequence[tuple[Case, bool, bool]]) -> dict[str, Any]:
    if not pairs:
        return dict.fromkeys(("intact", "unsighted", "fall", "low", "high"))
    names = [(c.dialogue.id, c.instruction.id if c.instruction else "", c.id) for c, *_ in pairs]
    codes = (np.unique(column, return_inverse=True)[1] for column in zip(*names, strict=True))
    before, after = np.array([pair[1:] for pair in pairs], dtype=np.int64).T
    found = paired_interval(before - after, Ways(*(c.astype(np.int64) for c in codes)))
    rates = {"intact": float(before.mean()), "unsighted": float(after.mean())}
    return rates | {"fall": found.difference, "low": found.low, "high": found.high}


def maps(looked: Sequence[Looked], arm: str) -> list[dict[str, Any]]:
    """Return both arms' maps of the case that an arm keeps at most turns; of several the first."""
    best = max(
        (one for one in looked if one.arm == arm),
        key=lambda one: sum(turn.sample.status == "pass" for turn in one.turns),
    ).case
    return [
        {
            "arm": one.arm,
            "dialogue": best.dialogue.id,
            "instruction": best.instruction and best.instruction.id,
            "text": best.instruction and best.instruction.text,
            "bins": [asdict(b) for b in one.bins],
            "rows": [
                {
                    "turn": turn.sample.turn,
                    "status": turn.sample.status,
                    "peak": turn.bin_peak_N.round(DIGITS).tolist(),
                }
                for turn in one.turns
            ],
        }
        for one in looked
        if one.case.id == best.id
    ]
