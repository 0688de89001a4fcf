"""Curves: the flat list of records in `results.json`, from which every chart is drawn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from eval.metrics.outcomes import ALL as ALL
from eval.metrics.outcomes import Outcome, Rows, rate_of
from eval.metrics.per_reply.adherence import adherence, adherence_loose
from eval.metrics.per_reply.false_trigger import false_trigger
from eval.metrics.per_reply.probe_recall import probe_recall
from eval.metrics.per_reply.repetition import repetition
from eval.metrics.per_reply.score import probe_score, score
from eval.metrics.per_reply.since_switch import adherence_since_switch, leakage, probe_leakage
from eval.metrics.per_reply.survival import survival
from eval.metrics.per_reply.task_completion import task_completion
from eval.records.samples import Sample
from gatt.errors import DataError

Metric = Callable[[Iterable[Sample]], Iterable[Outcome]]
"""From the samples of one arm and history to what is counted, in any order."""

METRICS: Mapping[str, Metric] = {
    "adherence": adherence,
    "adherence_loose": adherence_loose,
    "survival": survival,
    "probe_recall": probe_recall,
    "task_completion": task_completion,
    "repetition": repetition,
    "false_trigger": false_trigger,
    "adherence_since_switch": adherence_since_switch,
    "leakage": leakage,
    "probe_leakage": probe_leakage,
}
"""Name -> function. A new metric is one file, one line here, one test."""

GRADED: Mapping[str, Metric] = {"score": score, "probe_score": probe_score}
"""Metrics whose rate is a mean of scores: curves of their own, without comparisons and summaries."""

VACUOUS: Mapping[str, str] = {
    "adherence": "vacuous_adherence",
    "false_trigger": "vacuous_false_trigger",
    "leakage": "vacuous_leakage",
}
"""Metric -> the same of the dialogue's own replies, which were written without the instruction."""
OWN_REPLIES = "dialogue"
"""The value of `arm` in the records of the vacuous metrics."""

PASS_IS_BAD = frozenset(
    {"false_trigger", "vacuous_false_trigger", "repetition", "leakage", "vacuous_leakage", "probe_leakage"}
)  # fmt: skip
"""Metrics that count errors: there the pessimistic rate is the higher one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """One rate: of an arm, a metric, a history, a split and a family, at a turn."""

    arm: str
    metric: str
    history: str
    split: str
    family: str
    turn: int
    """Counted from 1; for the metrics of `SINCE_SWITCH` turns since the change, from 0."""
    rate: float | None
    """None, as `low` and `high`, where nothing was decided."""
    low: float | None
    high: float | None
    num_dialogues: int
    """Dialogues with at least one decided outcome."""
    num_passed: int
    num_decided: int
    """`rate` is the one over the other, but for `GRADED`: there it is the mean score."""
    num_undecided: int
    """Outcomes in no rate but the next two."""
    pessimistic: float
    optimistic: float
    """The rate if every undecided outcome had gone badly, or well."""
    num_instructions: int
    """Instructions with a decided outcome; from `MIN_INSTRUCTIONS` on the interval is one over
    instructions like these, below it speaks of these alone. 0 for plain dialogues."""

    @classmethod
    def from_dict(cls, raw: object) -> CurvePoint:
        """Return the point of a flat record.

        Raises:
            DataError: not an object, or a missing or unknown key.
        """
        known = [f.name for f in fields(cls)]
        if not isinstance(raw, Mapping) or set(raw) != set(known):
            found = ", ".join(map(str, raw)) if isinstance(raw, Mapping) else type(raw).__name__
            raise DataError(
                f"results: a curve record has {found or 'no key'}: expected {', '.join(known)}"
            )
        return cls(**raw)


def by_arm(samples: Iterable[Sample]) -> dict[tuple[str, str], list[Sample]]:
    """Return the samples of each arm and history."""
    found: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    for sample in samples:
        found[sample.arm, sample.history].append(sample)
    return found


def curves(samples: Iterable[Sample], metrics: Mapping[str, Metric] = METRICS) -> list[CurvePoint]:
    """Return every rate that the samples allow.

    For each arm and history: every metric with at least one sample, at every
    turn it was asked, for the total (`split` and `family` both "all"), for each
    split, each family, and each family within a split.
    """
    return [
        point
        for (arm, history), members in by_arm(samples).items()
        for metric, measure in metrics.items()
        for point in _curves_of(arm, history, metric, Rows.of(measure(members)))
    ]


def _curves_of(arm: str, history: str, metric: str, rows: Rows) -> Sequence[CurvePoint]:
    return [
        CurvePoint(
            arm=arm,
            metric=metric,
            history=history,
            split=split,
            family=family,
            turn=turn,
            **asdict(rate_of(at_turn, is_pass_good=metric not in PASS_IS_BAD)),
        )
        for split, family, part in rows.slices()
        for turn, at_turn in part.by_turn()
    ]
