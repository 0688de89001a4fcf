"""Summaries: what a whole curve comes down to, as the flat records of `results.json`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from eval.metrics.area import area
from eval.metrics.curves import METRICS, PASS_IS_BAD, CurvePoint, by_arm
from eval.metrics.half_life import half_life, half_life_interval
from eval.metrics.outcomes import Rows, rate_of
from eval.metrics.recovery import recovery
from eval.records.samples import Sample

WITH_RECOVERY = ("adherence", "adherence_loose")
"""Metrics in which a case can miss at one turn and pass at the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One number of one curve, with its 95 % interval."""

    arm: str
    metric: str
    history: str
    split: str
    family: str
    name: str
    """`half_life`, `area` or `recovery`."""
    value: float | None
    """A turn for `half_life`, None if the curve never falls below half; else from 0 to 1, None where
    nothing was decided."""
    low: float | None
    high: float | None
    """For `half_life` None stands for later than the last measured turn."""
    num_dialogues: int
    """Dialogues that it rests on."""

    def as_dict(self) -> dict[str, Any]:
        """Return the flat record of `results.json`."""
        return asdict(self)


def summaries(samples: Iterable[Sample], points: Sequence[CurvePoint]) -> list[Summary]:
    """Return half-life, area and recovery of every curve that has them.

    A half-life of false triggers would mean nothing and is left out.

    Args:
        samples: those that the curves were made of.
        points: `curves(samples)`.
    """
    found = [s for s in _half_lives(points) if s.metric in METRICS]
    for (arm, history), members in by_arm(samples).items():
        for metric, measure in METRICS.items():
            outcomes = list(measure(members))
            where = {"arm": arm, "metric": metric, "history": history}
            found += _areas(where, Rows.of(outcomes))
            if metric in WITH_RECOVERY:
                found += _recoveries(where, Rows.of(recovery(outcomes)))
    return found


def _half_lives(points: Iterable[CurvePoint]) -> Iterator[Summary]:
    lines: dict[tuple[str, ...], list[CurvePoint]] = defaultdict(list)
    for point in points:
        if point.metric not in PASS_IS_BAD and point.rate is not None:
            key = (point.arm, point.metric, point.history, point.split, point.family)
            lines[key].append(point)
    for (arm, metric, history, split, family), line in lines.items():
        low, high = half_life_interval(line)
        yield Summary(
            arm=arm,
            metric=metric,
            history=history,
            split=split,
            family=family,
            name="half_life",
            value=half_life(line),
            low=low,
            high=high,
            num_dialogues=max(p.num_dialogues for p in line),
        )


def _areas(where: dict[str, str], rows: Rows) -> Iterator[Summary]:
    for split, family, part in rows.slices():
        found = area(part)
        if found is not None:
            value, low, high = found
            yield Summary(
                **where,
                split=split,
                family=family,
                name="area",
                value=value,
                low=low,
                high=high,
                num_dialogues=rate_of(part).num_dialogues,
            )


def _recoveries(where: dict[str, str], rows: Rows) -> Iterator[Summary]:
    for split, family, part in rows.slices():
        rate = rate_of(part)
        yield Summary(
            **where,
            split=split,
            family=family,
            name="recovery",
            value=rate.rate,
            low=rate.low,
            high=rate.high,
            num_dialogues=rate.num_dialogues,
        )
