"""Curves: the flat list of records that `results.json` and every chart rest on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from eval.metrics.adherence import adherence
from eval.metrics.false_trigger import false_trigger
from eval.metrics.outcomes import Outcomes, rate_of
from eval.metrics.probe_recall import probe_recall
from eval.metrics.survival import survival
from eval.samples import Sample
from gatt.errors import DataError

METRICS: Mapping[str, Callable[[Iterable[Sample]], Outcomes]] = {
    "adherence": adherence,
    "survival": survival,
    "probe_recall": probe_recall,
    "false_trigger": false_trigger,
}
"""Name -> function. A new metric is one file, one line here, one test."""

VACUOUS: Mapping[str, str] = {
    "adherence": "vacuous_adherence",
    "false_trigger": "vacuous_false_trigger",
}
"""Metric -> the same of the dialogue's own replies, which nobody wrote under the instruction."""
OWN_REPLIES = "dialogue"
"""The value of `arm` in the records of the vacuous metrics."""

PASS_IS_BAD = frozenset({"false_trigger", VACUOUS["false_trigger"]})
"""Metrics that count errors: there the pessimistic rate is the higher one."""

ALL = "all"
"""The value of `split` and `family` for totals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """One rate: of an arm, a metric, a history, a split and a family, at a turn."""

    arm: str
    metric: str
    history: str
    split: str
    family: str
    turn: int
    rate: float | None
    """None, as `low` and `high`, where nothing was decided."""
    low: float | None
    high: float | None
    num_dialogues: int
    """Dialogues with at least one decided outcome."""
    num_passed: int
    num_decided: int
    """`rate` is the one over the other."""
    num_undecided: int
    """Outcomes in no rate but the next two."""
    pessimistic: float
    optimistic: float
    """The rate if every undecided outcome had gone badly, or well."""

    def as_dict(self) -> dict[str, Any]:
        """Return the flat record of `results.json`."""
        return asdict(self)

    @classmethod
    def from_dict(cls, raw: object) -> CurvePoint:
        """Return the point of a flat record.

        Raises:
            DataError: not an object, or a missing or unknown key.
        """
        known = [f.name for f in fields(cls)]
        if not isinstance(raw, Mapping) or set(raw) != set(known):
            found = ", ".join(map(str, raw)) if isinstance(raw, Mapping) else type(raw).__name__
            raise DataError(f"curve record has {found or 'no key'}: expected {', '.join(known)}")
        return cls(**raw)


def curves(
    samples: Iterable[Sample],
    metrics: Mapping[str, Callable[[Iterable[Sample]], Outcomes]] = METRICS,
) -> list[CurvePoint]:
    """Return every rate that the samples allow.

    For each arm and history: every metric with at least one sample, at every
    turn it was asked, for the total (`split` and `family` both "all"), for each
    split, each family, and each family within a split.
    """
    groups: dict[tuple[str, str, str, str], list[Sample]] = defaultdict(list)
    for sample in samples:
        for split in (ALL, sample.split):
            for family in (ALL, sample.family):
                groups[sample.arm, sample.history, split, family].append(sample)
    return [
        CurvePoint(
            arm=arm,
            metric=metric,
            history=history,
            split=split,
            family=family,
            turn=turn,
            **asdict(rate_of(outcomes, is_pass_good=metric not in PASS_IS_BAD)),
        )
        for (arm, history, split, family), members in groups.items()
        for metric, measure in metrics.items()
        for turn, outcomes in sorted(measure(members).items())
    ]
