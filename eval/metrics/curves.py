"""Curves: the flat list of records in `results.json`, from which every chart is drawn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from eval.metrics import per_reply
from eval.metrics.outcomes import ALL as ALL
from eval.metrics.outcomes import Outcome, Rate, Rows, rate_of
from eval.records.samples import Sample
from gatt.errors import DataError

Metric = Callable[[Iterable[Sample]], Iterable[Outcome]]
"""From the samples of one arm and history to what is counted, in any order."""

METRICS: Mapping[str, Metric] = {
    metric.__name__: metric
    for metric in (
        per_reply.adherence,
        per_reply.adherence_loose,
        per_reply.survival,
        per_reply.probe_recall,
        per_reply.task_completion,
        per_reply.repetition,
        per_reply.false_trigger,
        per_reply.adherence_since_switch,
        per_reply.leakage,
        per_reply.probe_leakage,
    )
}
"""Name -> function. A new metric is one function, one line here, one test."""

GRADED: Mapping[str, Metric] = {"score": per_reply.score, "probe_score": per_reply.probe_score}
"""Metrics whose rate is a mean of scores: curves of their own, without comparisons and summaries."""

VACUOUS: Mapping[str, str] = {
    "adherence": "vacuous_adherence",
    "false_trigger": "vacuous_false_trigger",
    "leakage": "vacuous_leakage",
}
"""Metric -> the same of the dialogue's own replies, which were written without the instruction."""
OWN_REPLIES = "dialogue"
"""The value of `arm` in the records of the vacuous metrics."""
SINCE_SWITCH = ("adherence_since_switch", "leakage", "probe_leakage")
"""Metrics whose turns are counted from the change of the instruction on, from 0."""

PASS_IS_BAD = frozenset(
    {"false_trigger", "vacuous_false_trigger", "repetition", "leakage", "vacuous_leakage", "probe_leakage"}
)  # fmt: skip
"""Metrics that count errors: there the pessimistic rate is the higher one."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """What one curve is of."""

    arm: str
    metric: str
    history: str
    split: str
    family: str


@dataclass(frozen=True, kw_only=True)
class CurvePoint(Rate, Curve):
    """One rate of a curve, at a turn."""

    turn: int
    """Counted from 1; for the metrics of `SINCE_SWITCH` turns since the change, from 0."""

    @classmethod
    def from_dict(cls, raw: object) -> CurvePoint:
        """Return the point of a flat record.

        Raises:
            DataError: not an object, or a missing or unknown key.
        """
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


def curves(samples: Iterable[Sample], metrics: Mapping[str, Metric] = METRICS) -> list[CurvePoint]:
    """Return every rate that the samples allow.

    For each arm and history: every metric with at least one sample, at every
    turn it was asked, for the total (`split` and `family` both "all"), for each
    split, each family, and each family within a split.
    """
    return [
        CurvePoint(
            arm=arm,
            metric=metric,
            history=history,
            split=split,
            family=family,
            turn=turn,
            **vars(rate_of(at_turn, is_pass_good=metric not in PASS_IS_BAD)),
        )
        for (arm, history), members in by_arm(samples).items()
        for metric, measure in metrics.items()
        for split, family, part in Rows.of(measure(members)).slices()
        for turn, at_turn in part.by_turn()
    ]
