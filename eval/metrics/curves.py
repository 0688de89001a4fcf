"""Rates and curves: the flat list of records in `results.json`, from which every chart is drawn.

The dialogue's own replies were written without the instruction: nearly all of them keep "use no digits",
so compare what an arm keeps, and its false triggers, with their rate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from eval.metrics.ability import ABLE, UNABLE
from eval.metrics.intervals import Codes, Floats, Ways, crossed_interval, num_groups
from eval.metrics.table import METRICS, VACUOUS, Metric, Outcome
from eval.records.case import Case
from eval.records.samples import Sample
from eval.scoring.verdict import verdicts_of_turn
from gatt.data.catalog.switch_leakage import leak_status
from gatt.data.instruction import Entry
from gatt.errors import DataError
from gatt.verifiers.base import Status

OWN_REPLIES = "dialogue"
"""The value of `arm` in the records of the vacuous metrics."""
ALL = "all"
"""The value of `split` and `family` for totals."""
_VALUES: Final[dict[Status, float]] = {"pass": 1.0, "fail": 0.0, "undecided": float("nan")}


@dataclass(frozen=True, slots=True)
class OutcomeColumns:
    """Outcomes as columns, in order of turns: 10,000 dialogues are slow one by one."""

    turn: Codes
    split: npt.NDArray[np.object_]
    family: npt.NDArray[np.object_]
    value: Floats
    """1 for a pass, 0 for a fail; NaN for undecided."""
    ways: Ways
    num_named: int
    """Codes of instructions below this are instructions; the rest are plain dialogues."""

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> OutcomeColumns:
        """Return the columns of outcomes in any order."""
        in_order = sorted(outcomes, key=lambda o: o.turn)
        samples = [o.sample for o in in_order]
        # Dialogues that begin alike are one unit.
        dialogue, _ = _codes([s.cluster or s.dialogue for s in samples])
        is_plain = np.array([s.instruction is None for s in samples], dtype=bool)
        instruction, named = _codes([s.instruction.id if s.instruction else "" for s in samples])
        # Each plain dialogue is an instruction group of its own.
        instruction = np.where(is_plain, len(named) + dialogue, instruction)
        pairs = dialogue * (2 * len(samples) + 1) + instruction
        case = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
        return cls(
            turn=np.array([o.turn for o in in_order], dtype=np.int64),
            split=np.array([s.split for s in samples], dtype=object),
            family=np.array([s.family for s in samples], dtype=object),
            value=np.array([_VALUES[o.status] for o in in_order], dtype=np.float64),
            ways=Ways(dialogue, instruction, case),
            num_named=len(named),
        )

    def where(self, chosen: npt.NDArray[Any] | slice) -> OutcomeColumns:
        """Return the chosen rows (a mask, indices or a slice)."""
        columns = ("turn", "split", "family", "value")
        chosen_columns: dict[str, Any] = {name: getattr(self, name)[chosen] for name in columns}
        return replace(self, ways=self.ways.where(chosen), **chosen_columns)

    def slices(self) -> Iterator[tuple[str, str, OutcomeColumns]]:
        """Yield split, family and rows: the total, each split, each family, each of both."""
        families = dict.fromkeys(self.family.tolist())
        for split in (ALL, *dict.fromkeys(self.split.tolist())):
            in_split = self if split == ALL else self.where(self.split == split)
            for family in (ALL, *families):
                rows = in_split if family == ALL else in_split.where(in_split.family == family)
                if len(rows.turn):
                    yield split, family, rows

    def by_turn(self) -> Iterator[tuple[int, OutcomeColumns]]:
        """Yield each turn and its rows, in order."""
        turns, starts, sizes = np.unique(self.turn, return_index=True, return_counts=True)
        for turn, start, size in zip(turns, starts, sizes, strict=True):
            yield int(turn), self.where(slice(int(start), int(start + size)))


@dataclass(frozen=True, kw_only=True)
class Rate:
    """Passes over passes and fails, with its 95 % interval.

    `rate`, `low` and `high` are None where nothing was decided: not measured is
    not zero.
    """

    rate: float | None
    low: float | None
    high: float | None
    num_dialogues: int
    """Dialogues with at least one decided outcome: what the rate rests on. Those that begin alike are one."""
    num_instructions: int
    """The same of instructions, 0 for plain dialogues; from `MIN_INSTRUCTIONS` on the interval is one
    over instructions like these, below it speaks of these alone."""
    num_passed: int
    num_decided: int
    """Outcomes that passed, and those that passed or failed: the rate's two numbers."""
    num_undecided: int
    """Outcomes that no verifier could decide; they are not in the rate."""
    pessimistic: float
    optimistic: float
    """The rate over all outcomes if every undecided one had gone badly, or well."""


def rate_of(rows: OutcomeColumns, *, is_pass_good: bool = True) -> Rate:
    """Return the rate of at least one outcome with its interval, see `eval.metrics.intervals`.

    Where a pass is the error (`is_pass_good` false), the pessimistic rate counts undecided outcomes as
    passed.
    """
    decided = rows.where(~np.isnan(rows.value))
    num, num_decided = len(rows.value), len(decided.value)
    num_passed, undecided = int(decided.value.sum()), num - num_decided
    rate = low = high = None
    if num_decided:
        rate = num_passed / num_decided
        low, high = crossed_interval(decided.value, decided.ways)
    if_failed, if_passed = num_passed / num, (num_passed + undecided) / num
    instructions = decided.ways.instruction
    return Rate(
        rate=rate,
        low=low,
        high=high,
        num_dialogues=num_groups(decided.ways.dialogue),
        num_instructions=num_groups(instructions[instructions < rows.num_named]),
        num_passed=num_passed,
        num_decided=num_decided,
        num_undecided=undecided,
        pessimistic=if_failed if is_pass_good else if_passed,
        optimistic=if_passed if is_pass_good else if_failed,
    )


def _codes(names: Sequence[str]) -> tuple[Codes, tuple[str, ...]]:
    """Return a number for each name, and the names by number."""
    by_name: dict[str, int] = {}
    codes = [by_name.setdefault(name, len(by_name)) for name in names]
    return np.array(codes, dtype=np.int64), tuple(by_name)


@dataclass(frozen=True, kw_only=True)
class Curve:
    """What one curve shows."""

    arm: str
    metric: str
    history: str
    split: str
    family: str


@dataclass(frozen=True, kw_only=True)
class CurvePoint(Rate, Curve):
    """One rate of a curve, at a turn."""

    turn: int
    """Counted from 1; for a metric since the switch, turns since the change, from 0."""

    @classmethod
    def from_dict(cls, raw: object) -> CurvePoint:
        """Return the point of a flat record; raises `DataError` for anything else."""
        try:
            return cls(**raw)  # type: ignore[arg-type]
        except TypeError as error:
            raise DataError(f"results: a curve record is broken: {error}") from None


def by_arm(samples: Iterable[Sample]) -> dict[tuple[str, str], list[Sample]]:
    """Return the samples of each arm and history."""
    by_arm_and_history: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    for sample in samples:
        by_arm_and_history[sample.arm, sample.history].append(sample)
    return by_arm_and_history


def curves(
    samples: Iterable[Sample],
    metrics: Mapping[str, Metric] = METRICS,
    able: AbstractSet[str] | None = None,
) -> list[CurvePoint]:
    """Return every rate that the samples allow.

    For each arm and history: every metric with at least one sample, at every turn it was asked, for the
    total (`split` and `family` both "all"), for each split, each family, and each family within a split.
    `able` are ids of the instructions that the model keeps alone: the metrics by ability get the splits
    `able` and `unable`. It is None where nobody was asked alone.
    """
    return [
        CurvePoint(
            arm=arm,
            metric=name,
            history=history,
            split=split,
            family=family,
            turn=turn,
            **vars(rate_of(at_turn, is_pass_good=metric.is_pass_good)),
        )
        for (arm, history), members in by_arm(samples).items()
        for name, metric in metrics.items()
        for split, family, part in _slices(list(metric.count(members)), metric, able)
        for turn, at_turn in part.by_turn()
    ]


def _slices(
    outcomes: Sequence[Outcome], metric: Metric, able: AbstractSet[str] | None
) -> Iterator[tuple[str, str, OutcomeColumns]]:
    yield from OutcomeColumns.of(outcomes).slices()
    if able is None or not metric.is_by_ability:
        return
    for split in (ABLE, UNABLE):
        part = [o for o in outcomes if (_name(o) in able) == (split == ABLE)]
        yield from (
            (split, f, rows) for of, f, rows in OutcomeColumns.of(part).slices() if of == ALL
        )


def _name(outcome: Outcome) -> str:
    instruction = outcome.sample.instruction
    return instruction.id if instruction else ""


def vacuous_curves(
    samples: Iterable[Sample], pool: Sequence[Entry], cases: Iterable[Case] = ()
) -> list[CurvePoint]:
    """Return the rates of the dialogue's own replies in place of the arms', as `curves` does.

    They are the same for all arms and histories, with one record for each history. A turn without an own
    reply is not counted. `pool` are the entries that count for false triggers; `cases` say what a change
    has ended, for leakage.
    """
    changed = {
        (case.dialogue.id, case.instruction.id, case.twin): case
        for case in cases
        if case.instruction and case.switches
    }
    own: dict[tuple[str | int, ...], Sample] = {}
    for sample in samples:
        if sample.kind == "turn" and sample.reference is not None:
            own.setdefault((sample.history, *sample.case, sample.turn), sample)
    judged = []
    for sample in own.values():
        reply = sample.reference or ""
        status, verdicts = verdicts_of_turn(reply, sample.instruction, pool)
        case = changed.get(sample.case)
        judged.append(
            replace(
                sample,
                arm=OWN_REPLIES,
                reply=reply,
                finish="stop",
                status=status,
                verdicts=verdicts,
                loose=None,
                completion=None,
                answer=None,
                asks=None,
                judge=None,
                leak=leak_status(case.ended_rules(sample.turn), reply) if case else None,
            )
        )
    return curves(judged, {vacuous: METRICS[name] for name, vacuous in VACUOUS.items()})
