"""Curves: the flat list of records in `results.json`, from which every chart is drawn.

The dialogue's own replies were written without the instruction: nearly all of them keep "use no digits",
so compare what an arm keeps, and its false triggers, with their rate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from eval.metrics.ability import ABLE, UNABLE
from eval.metrics.outcomes import ALL, Outcome, OutcomeColumns, Rate, rate_of
from eval.metrics.table import METRICS, VACUOUS, Metric
from eval.records.case import Case
from eval.records.samples import Sample
from eval.scoring.verdict import verdicts_of_turn
from gatt.data.catalog.switch_leakage import leak_status
from gatt.data.instruction import Entry
from gatt.errors import DataError

OWN_REPLIES = "dialogue"
"""The value of `arm` in the records of the vacuous metrics."""


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
    found: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    for sample in samples:
        found[sample.arm, sample.history].append(sample)
    return found


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
