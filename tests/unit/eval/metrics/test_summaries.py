"""Half-life, area and recovery on hand-made curves."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from eval.metrics.curves import CurvePoint, curves
from eval.metrics.outcomes import Rows, adherence
from eval.metrics.summaries import Summary, area, half_life, recovery, summaries
from eval.records.samples import Sample
from tests.support.runs.fake_samples import fake_samples, sample

LETTERS: dict[str, Any] = {"p": "pass", "f": "fail", "u": "undecided"}


def run(turns: tuple[int, ...] = (1, 2, 4), **statuses: str) -> list[Sample]:
    return [
        sample(dialogue=dialogue, turn=turn, status=LETTERS[letter])
        for dialogue, letters in statuses.items()
        for turn, letter in zip(turns, letters, strict=True)
        if letter != "-"
    ]


def curve(**rates: float | tuple[float, float, float] | None) -> list[CurvePoint]:
    base = asdict(curves([sample()])[0])
    found = []
    for turn, value in rates.items():
        rate, low, high = value if isinstance(value, tuple) else (value, value, value)
        bounds = {"turn": int(turn[1:]), "rate": rate, "low": low, "high": high}
        found.append(CurvePoint(**{**base, **bounds}))
    return found


def of(samples: list[Sample], name: str, **wanted: Any) -> Summary:
    wanted = {"metric": "adherence", "split": "all", "family": "all"} | wanted
    (found,) = [
        s
        for s in summaries(samples, curves(samples))
        if s.name == name and all(getattr(s, k) == v for k, v in wanted.items())
    ]
    return found


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        (curve(t1=0.9, t2=0.5, t4=0.49, t8=0.7), (4, 4, 4)),
        (curve(t8=0.1, t2=0.4), (2, 2, 2)),
        ([], (None, None, None)),
        (curve(t1=(0.9, 0.8, 1.0), t2=(0.6, 0.4, 0.7), t4=(0.4, 0.3, 0.55), t8=(0.2, 0, 0.4)), (4, 2, 8)),
        (curve(t1=(0.9, 0.8, 1.0), t2=(0.6, 0.4, 0.7)), (None, 2, None)),
        (curve(t1=(0.9, 0.8, 1.0), t2=None), (None, None, None)),
    ],
)  # fmt: skip
def test_half_life_is_the_first_turn_under_half_and_has_the_bounds_of_the_band(
    points: list[CurvePoint], expected: tuple[int | None, ...]
) -> None:
    assert tuple(half_life(points, end) for end in ("rate", "low", "high")) == expected


def test_the_area_is_that_of_the_trapezoids() -> None:
    # Rates 1, 1/2, 0 at turns 1, 2, 4: (1 + 1/2) / 2 * 1 + (1/2 + 0) / 2 * 2 = 1.25, over 3.
    value, low, high = area(Rows.of(adherence(run(a="ppf", b="pff")))) or (0, 0, 0)
    assert value == pytest.approx(1.25 / 3)
    assert 0 < low < value < high < 1


def test_undecided_replies_and_turns_are_not_in_the_area() -> None:
    # Turn 2 has nothing decided: the line goes from turn 1 (1) straight to turn 4 (1/2).
    value, *_ = area(Rows.of(adherence(run(a="pup", b="puf", c="u--")))) or (0, 0, 0)
    assert value == pytest.approx(0.75)
    assert area(Rows.of(adherence(run(a="uuu")))) is None


def test_recovery_looks_at_the_next_judged_turn_after_each_miss() -> None:
    # a: miss, then pass. b: two misses, then pass: the first is followed by a miss. c: the last
    # reply missed, nobody knows. d: miss, then undecided. e: never missed.
    made = run(a="fpp", b="ffp", c="ppf", d="fup", e="ppp")
    found = of(made, "recovery")
    assert (found.value, found.num_dialogues) == (2 / 3, 2)
    assert [o.status for o in recovery(adherence(run(d="fup")))] == ["undecided"]


def test_summaries_are_flat_records_of_every_slice() -> None:
    found = of(run(a="pff", b="pff"), "half_life", split="train", family="language")
    assert asdict(found) == {
        "arm": "base", "metric": "adherence", "history": "reference", "split": "train",
        "family": "language", "name": "half_life", "value": 2, "low": 1, "high": None,
        "num_dialogues": 2,
    }  # fmt: skip


def test_false_triggers_have_no_half_life_and_misses_are_those_of_adherence() -> None:
    made = fake_samples()
    names = {(s.metric, s.name) for s in summaries(made, curves(made))}
    kept = ("adherence", "adherence_loose", "survival", "probe_recall")
    assert names == {
        *((m, n) for m in kept for n in ("half_life", "area")),
        ("adherence", "recovery"),
        ("adherence_loose", "recovery"),
        ("false_trigger", "area"),
        ("repetition", "area"),
    }
    assert summaries([], []) == []
