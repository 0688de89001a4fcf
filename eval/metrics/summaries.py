"""Summaries: a whole curve in one number, as flat records of `results.json`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

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
            for split, family, rows in Rows.of(outcomes).slices():
                if (bounds := area(rows)) is not None:
                    place = where | {"split": split, "family": family}
                    found.append(_summary("area", place, bounds, rate_of(rows).num_dialogues))
            if metric in WITH_RECOVERY:
                for split, family, rows in Rows.of(recovery(outcomes)).slices():
                    rate = rate_of(rows)
                    place = where | {"split": split, "family": family}
                    numbers = (rate.rate, rate.low, rate.high)
                    found.append(_summary("recovery", place, numbers, rate.num_dialogues))
    return found


def _half_lives(points: Iterable[CurvePoint]) -> Iterator[Summary]:
    lines: dict[tuple[str, ...], list[CurvePoint]] = defaultdict(list)
    fields = ("arm", "metric", "history", "split", "family")
    for point in points:
        if point.metric not in PASS_IS_BAD and point.rate is not None:
            lines[tuple(getattr(point, field) for field in fields)].append(point)
    for key, line in lines.items():
        bounds = (half_life(line), *half_life_interval(line))
        place = dict(zip(fields, key, strict=True))
        yield _summary("half_life", place, bounds, max(p.num_dialogues for p in line))


def _summary(
    name: str,
    place: dict[str, str],
    bounds: tuple[float | None, float | None, float | None],
    num_dialogues: int,
) -> Summary:
    value, low, high = bounds
    return Summary(**place, name=name, value=value, low=low, high=high, num_dialogues=num_dialogues)
