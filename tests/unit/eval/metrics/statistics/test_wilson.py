from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.metrics.statistics.wilson import wilson_interval


@pytest.mark.parametrize(
    ("successes", "total", "low", "high"),
    [
        # z² = 3.841459. 0 of 16: high = z² / (n + z²) = 3.841459 / 19.841459.
        (0, 16, 0.0, 0.193608),
        (16, 16, 0.806392, 1.0),
        # 8 of 16: centre 0.5, half = z sqrt(n + z²) / (2 (n + z²))... = z / (2 sqrt(19.841459)).
        (8, 16, 0.5 - 0.220003, 0.5 + 0.220003),
        # Newcombe 1998 (Statistics in Medicine 17:857), table I, method 3: 81/263 and 15/148.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
    ],
)
def test_intervals_match_the_arithmetic(
    successes: int, total: int, low: float, high: float
) -> None:
    assert wilson_interval(successes, total) == pytest.approx((low, high), abs=5e-5)


def test_nothing_measured_leaves_everything_possible() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("successes", "total"), [(3, 2), (-1, 2)])
def test_impossible_counts_are_refused(successes: int, total: int) -> None:
    with pytest.raises(ValueError, match="expected 0 <= successes <= total"):
        wilson_interval(successes, total)


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_holds_the_rate_and_is_never_a_point(counts: tuple[int, int]) -> None:
    successes, total = counts
    low, high = wilson_interval(successes, total)
    assert 0 <= low <= successes / total <= high <= 1
    assert high - low > 1e-4
    mirrored = wilson_interval(total - successes, total)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-12)
