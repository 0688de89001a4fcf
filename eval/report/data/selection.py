"""The curves of a `results.json`, and the choices that every table and chart share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from eval.config import RUN_MARK
from eval.metrics.curves import ALL, OWN_REPLIES, SINCE_SWITCH, VACUOUS, CurvePoint
from eval.report.data.lists import records
from gatt.data.instruction import SPLITS
from gatt.errors import DataError

SCHEMA = 3
"""The version of `results.json` that this package writes and reads."""
HEADLINE_TURN_LIMIT = 20
"""The headline speaks of the last common turn up to here: the paper's horizon."""

BOUND_NOTE = "meant as an upper bound."
"""How the note of an evaluation ends that explains the reminder's arm."""
ARM_ORDER = ("base", "gatt", "base+reminder")
ARM_NAMES: Mapping[str, str] = {
    "base": "base model",
    "base+reminder": "base + reminder",
    "gatt": "GAtt",
    ALL: "all arms",
}
SPLIT_NAMES: Mapping[str, str] = {
    ALL: "all instructions",
    "train": "seen",
    "heldout_value": "unseen value",
    "heldout_family": "unseen family",
    "none": "no instruction",
}
HISTORY_NAMES: Mapping[str, str] = {"reference": "people’s history", "own": "own history"}
METRIC_NAMES: Mapping[str, str] = {
    "adherence": "Adherence",
    "survival": "Survival",
    "probe_recall": "Probe recall",
    "task_completion": "Task completion",
    "repetition": "Repetition",
    "false_trigger": "False triggers",
    "score": "Mean score",
    "probe_score": "Mean score of answers to a probe",
    "adherence_loose": "Adherence, lenient reading",
    "adherence_since_switch": "Adherence since the change",
    "leakage": "Leakage of the old instruction",
    "probe_leakage": "Leakage of the old instruction, when asked",
}
"""In the order in which a report shows them."""
OWN_REPLIES_NAME = "the dialogue itself"
"""What readers call the dialogue's own replies, the reference of the vacuous metrics."""


def split_arm(arm: str) -> tuple[str, str]:
    """Return the run and the arm's own name; the run is empty where there is one alone."""
    run, _, name = arm.rpartition(RUN_MARK)
    return run, name


def arm_name(arm: str) -> str:
    """Return what readers call the arm; an unknown one keeps its name."""
    run, name = split_arm(arm)
    known = {**ARM_NAMES, OWN_REPLIES: OWN_REPLIES_NAME}.get(name, name)
    return f"{run}{RUN_MARK}{known}" if run else known


def turn_name(metric: str, turn: int) -> str:
    """Return the head of a column: of some metrics turns are counted from a change on."""
    if metric not in SINCE_SWITCH:
        return f"turn {turn}"
    return f"{turn} later" if turn else "at it"


def metric_name(metric: str) -> str:
    """Return the heading of a metric; one without a name gets its own, spelled out."""
    return METRIC_NAMES.get(metric, metric.replace("_", " ").capitalize())


@dataclass(frozen=True)
class Curves:
    """All curve points of a run, with the look-ups that a report needs."""

    points: tuple[CurvePoint, ...]

    @classmethod
    def of(cls, results: Mapping[str, Any]) -> Curves:
        """Return the curves of a `results.json`.

        Raises:
            DataError: another schema, or a broken record.
        """
        if results.get("schema") != SCHEMA:
            found = results.get("schema")
            raise DataError(f"results: schema is {found!r}: expected {SCHEMA}, evaluate again")
        if "curves" not in results:
            raise DataError("results: no list 'curves': expected what `gatt eval` wrote")
        return cls(tuple(CurvePoint.from_dict(raw) for raw in records(results, "curves")))

    def find(self, **wanted: object) -> tuple[CurvePoint, ...]:
        """Return the points whose fields have the wanted values, by turn."""
        points = self._by_metric.get(wanted["metric"], ()) if "metric" in wanted else self.points
        found = [p for p in points if all(getattr(p, k) == v for k, v in wanted.items())]
        return tuple(sorted(found, key=lambda p: p.turn))

    @cached_property
    def _by_metric(self) -> Mapping[object, list[CurvePoint]]:
        # A run over 50 turns holds tens of thousands of points, and each table asks for many curves.
        found: dict[object, list[CurvePoint]] = defaultdict(list)
        for point in self.points:
            found[point.metric].append(point)
        return found

    @cached_property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs, none where there is one alone."""
        return tuple(dict.fromkeys(run for a in self.arms if (run := split_arm(a)[0])))

    @cached_property
    def arms(self) -> tuple[str, ...]:
        """Run by run: base, gatt, the reminder, then the others as they come; no own replies."""
        found = dict.fromkeys(p.arm for p in self.points if p.metric not in VACUOUS.values())
        parts = {arm: split_arm(arm) for arm in found}
        runs = list(dict.fromkeys(run for run, _ in parts.values()))
        names = _ordered((name for _, name in parts.values()), ARM_ORDER)
        place = {arm: (runs.index(run), names.index(name)) for arm, (run, name) in parts.items()}
        return tuple(sorted(found, key=lambda arm: place[arm]))

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of the arms that were measured."""
        found = (p.metric for p in self.points if p.metric not in VACUOUS.values())
        return _ordered(found, tuple(METRIC_NAMES))

    @property
    def histories(self) -> tuple[str, ...]:
        """The histories, reference first: its replies are the same for all arms."""
        return _ordered((p.history for p in self.points), ("reference", "own"))

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits without the total, seen first."""
        found = _ordered((p.split for p in self.points), (*SPLITS, "none"))
        return tuple(s for s in found if s != ALL)

    @property
    def families(self) -> tuple[str, ...]:
        """The families without the total."""
        return tuple(sorted({p.family for p in self.points} - {ALL}))

    @property
    def main_split(self) -> str:
        """The split of the headline: seen instructions, or all if there are none."""
        return "train" if self.find(split="train", metric="adherence") else ALL

    @property
    def main_history(self) -> str:
        """The history of the headline."""
        return self.histories[0] if self.histories else "reference"

    @property
    def main(self) -> dict[str, object]:
        """The fields of the headline's curve, for `find`."""
        return {
            "metric": "adherence",
            "history": self.main_history,
            "split": self.main_split,
            "family": ALL,
        }


def _ordered(values: Iterable[str], first: tuple[str, ...]) -> tuple[str, ...]:
    found = list(dict.fromkeys(values))
    return (*(v for v in first if v in found), *(v for v in found if v not in first))


def few_turns(turns: Sequence[int], most: int, keep: int | None = None) -> list[int]:
    """Return at most `most` of the rising turns, evenly spread, with the first and the last.

    Args:
        turns: in rising order.
        most: from 2 on.
        keep: a turn that is returned too where it is among `turns`: that of the headline.
    """
    if len(turns) <= most:
        return list(turns)
    step = (len(turns) - 1) / (most - 1)
    shown = [turns[round(number * step)] for number in range(most)]
    if keep is None or keep not in turns or keep in shown:
        return shown
    # The nearest one gives way, but for the first and the last.
    nearest = min(shown[1:-1] or shown[:1], key=lambda turn: abs(turn - keep))
    return sorted({*shown, keep} - {nearest})
