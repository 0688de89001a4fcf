"""Correlations by hand, and what has none."""

from __future__ import annotations

import numpy as np
import pytest

from eval.studies.attention.correlation import Pair, correlations, pearson, ranks


def pairs(num_dialogues: int, slope: float = 1.0, noise: float = 0.0) -> list[Pair]:
    """Return dialogues of three turns; at each turn the kept half has more attention by `slope`."""
    rng = np.random.default_rng(0)
    return [
        Pair(f"d{n}", turn, 10.0 - turn + slope * (n % 2) + noise * rng.normal(), n % 2 == 1)
        for n in range(num_dialogues)
        for turn in (1, 2, 3)
    ]


def found(given: list[Pair], kind: str, is_within: bool):
    made = correlations(given, "gatt", num_resamples=200)
    return next(c for c in made if (c.kind, c.is_within_turns) == (kind, is_within))


def test_pearson_and_ranks_by_hand() -> None:
    # x - mean = -1, 0, 1; y - mean = -1/3, 2/3, -1/3: the products sum to 0.
    assert pearson(np.array([1.0, 2, 3]), np.array([0.0, 1, 0])) == pytest.approx(0)
    # Point-biserial: (mean of kept - mean of broken) / sd * sqrt(p q) = (3.5 - 1.5) / 1.118 * 0.5.
    assert pearson(np.array([1.0, 2, 3, 4]), np.array([0.0, 0, 1, 1])) == pytest.approx(0.894427)
    assert ranks(np.array([5.0, 1, 5, 7])).tolist() == [2.5, 1, 2.5, 4]
    assert pearson(np.array([1.0, 1, 1]), np.array([0.0, 1, 0])) is None
    assert pearson(np.array([0.1, 0.1 + 1e-17]), np.array([0.0, 1])) is None
    assert pearson(np.array([1.0]), np.array([1.0])) is None


def test_turns_are_taken_off_where_they_alone_would_tie() -> None:
    # Kept at turn 1 and attention falls over turns, but within a turn nothing differs.
    given = [Pair(f"d{n}", t, 1.0 / t, t == 1) for n in range(12) for t in (1, 2, 3)]
    tied = found(given, "point_biserial", False)
    assert tied.value == pytest.approx(0.9707, abs=1e-4)
    assert found(given, "point_biserial", True).value is None
    assert found(pairs(12), "point_biserial", True).value == pytest.approx(1)
    assert found(pairs(12), "spearman", True).value > 0.95
    assert found(pairs(12), "point_biserial", False).value < 0.6


def test_the_interval_rests_on_dialogues_and_holds_the_value() -> None:
    noisy = found(pairs(16, 1.0, 0.8), "spearman", False)
    assert noisy.low < noisy.value < noisy.high
    assert (noisy.num_replies, noisy.num_kept, noisy.num_dialogues) == (48, 24, 16)
    assert noisy == found(pairs(16, 1.0, 0.8), "spearman", False)
    wider = found(pairs(10, 1.0, 0.8), "spearman", False)
    assert wider.high - wider.low > noisy.high - noisy.low
    few = found(pairs(9), "spearman", False)
    assert few.value is not None
    assert (few.low, few.high) == (None, None)


def test_replies_that_are_all_kept_have_none() -> None:
    for made in correlations(
        [Pair(f"d{n}", 1, float(n), True) for n in range(12)], "base", num_resamples=50
    ):
        assert (made.value, made.low, made.high) == (None, None, None)
        assert made.num_kept == 12
    for made in correlations([], "base"):
        assert (made.value, made.num_replies, made.num_dialogues) == (None, 0, 0)


def test_a_verdict_that_is_rare_gives_no_interval() -> None:
    # One kept dialogue in 12: a third of the resamples has none.
    given = [Pair(f"d{n}", 1, float(n), n == 3) for n in range(12)]
    made = found(given, "point_biserial", False)
    assert made.value is not None
    assert made.low is None
