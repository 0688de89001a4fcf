"""The value of `attention.json`: means over dialogues, the fall with the instruction hidden, the map."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
from scipy import stats

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
    """Return attention on the instruction over turns as flat records, one an arm and turn.

    `value` is the mean over dialogues, which may each stand under several instructions, with Student's
    95 % interval, which does not know the bounds of a share.
    """
    cells: dict[tuple[str, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in looked:
        for reply in one.turns:
            cells[one.arm, reply.sample.turn][one.case.dialogue.id].append(reply.mass)
    records = []
    for arm, turn in sorted(cells, key=lambda cell: (list(arms).index(cell[0]), cell[1])):
        values = [float(np.mean(several)) for several in cells[arm, turn].values()]
        mean, low, high = float(np.mean(values)), None, None
        if len(values) > 1:
            half = float(stats.sem(values) * stats.t.ppf(0.975, len(values) - 1))
            low, high = round(max(0.0, mean - half), DIGITS), round(min(1.0, mean + half), DIGITS)
        record = {"arm": arm, "turn": turn, "metric": "mass", "value": round(mean, DIGITS)}
        records.append(record | {"low": low, "high": high, "num_dialogues": len(values)})
    return records


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
    ways = Ways(*(c.astype(np.int64) for c in codes))
    fall, low, high = paired_interval(before - after, ways)
    rates = {"intact": float(before.mean()), "unsighted": float(after.mean())}
    return rates | {"fall": fall, "low": low, "high": high}


def maps(looked: Sequence[Looked], arm: str) -> list[dict[str, Any]]:
    """Return both arms' maps of the case that an arm keeps at most turns; of several the first."""
    best = max(
        (one for one in looked if one.arm == arm),
        key=lambda one: sum(turn.sample.status == "pass" for turn in one.turns),
    ).case
    told = best.instruction
    return [
        {
            "arm": one.arm,
            "dialogue": best.dialogue.id,
            "instruction": told and told.id,
            "text": told and told.text,
            "bins": [asdict(b) for b in one.bins],
            "rows": [_row(turn) for turn in one.turns],
        }
        for one in looked
        if one.case.id == best.id
    ]


def _row(reply: TurnAttention) -> dict[str, Any]:
    sample, peak = reply.sample, reply.bin_peak_N.round(DIGITS).tolist()
    return {"turn": sample.turn, "status": sample.status, "peak": peak}
