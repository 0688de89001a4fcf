from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.metrics.clustered import clustered_interval, design_effect, effective_size
from eval.metrics.student_t import t_quantile_95
from eval.metrics.wilson import wilson_from_rate, wilson_interval

CLUSTERS = st.lists(
    st.integers(1, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=1,
    max_size=40,
)


@pytest.mark.parametrize(
    ("degrees", "quantile"),
    # Any printed table of Student's t, two-sided 95 %.
    [
        (1, 12.7062),
        (2, 4.3027),
        (3, 3.1824),
        (15, 2.1314),
        (30, 2.0423),
        (200, 1.9719),
        (201, 1.9718),
        (1000, 1.9623),
    ],
)
def test_t_quantiles_match_the_printed_table(degrees: int, quantile: float) -> None:
    assert t_quantile_95(degrees) == pytest.approx(quantile, abs=5e-5)


def test_no_degree_of_freedom_is_refused() -> None:
    with pytest.raises(ValueError, match="0 degrees of freedom: expected at least 1"):
        t_quantile_95(0)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=60))
def test_one_reply_a_dialogue_is_plain_wilson(replies: list[int]) -> None:
    expected = wilson_interval(sum(replies), len(replies))
    assert clustered_interval([(r, 1) for r in replies]) == pytest.approx(expected, abs=1e-12)


@given(CLUSTERS)
def test_the_interval_holds_the_rate_and_is_never_narrower_than_wilson(
    clusters: list[tuple[int, int]],
) -> None:
    passes, total = sum(s for s, _ in clusters), sum(n for _, n in clusters)
    low, high = clustered_interval(clusters)
    plain_low, plain_high = wilson_interval(passes, total)
    assert 0 <= low <= passes / total <= high <= 1
    assert low <= plain_low + 1e-12
    assert high >= plain_high - 1e-12
    assert high - low > 0.01


def test_the_design_effect_matches_the_arithmetic() -> None:
    # Four dialogues of 2 replies: 2, 2, 0, 1 passes. Mean size 2, so the pseudo-dialogues
    # are (2, 2) and (0, 2): k = 6, n = 12, passes 7, rate 7/12.
    # Residuals s - rate * 2: 5/6, 5/6, -7/6, -1/6, 5/6, -7/6; squares sum to
    # (25 + 25 + 49 + 1 + 25 + 49) / 36 = 174/36 = 29/6.
    # Clustered: 6/5 * 29/6 / 144 = 29/720. Independent: 7/12 * 5/12 / 11 = 35/1584.
    # Ratio: 29/720 * 1584/35 = 1.822857.
    clusters = [(2, 2), (2, 2), (0, 2), (1, 2)]
    assert design_effect(clusters) == pytest.approx(1.822857, abs=1e-6)
    # 8 replies, 4 dialogues: 8 / 1.822857 * (t7 / t3)² = 4.388715 * (2.364624 / 3.182446)².
    assert effective_size(clusters) == pytest.approx(2.422927, abs=1e-5)
    assert clustered_interval(clusters) == wilson_from_rate(5 / 8, effective_size(clusters))


def test_dialogues_without_variation_count_about_once_each() -> None:
    # 16 dialogues of 3 failed replies. With the pseudo-dialogues all is clustered, so that the
    # design effect is 3 * (18/17) * (53/54) = 3.117647 and the size below 16.
    clusters = [(0, 3)] * 16
    assert design_effect(clusters) == pytest.approx(3.117647, abs=1e-6)
    low, high = clustered_interval(clusters)
    assert low == 0
    assert wilson_interval(0, 16)[1] < high < wilson_interval(0, 12)[1]


def test_one_dialogue_is_worth_one_reply() -> None:
    assert clustered_interval([(5, 5)]) == wilson_interval(1, 1)


def test_no_reply_leaves_everything_possible() -> None:
    assert clustered_interval([]) == (0.0, 1.0)
    assert clustered_interval([(0, 0)]) == (0.0, 1.0)


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="3 successes of 2: expected"):
        clustered_interval([(3, 2)])


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.8])
def test_coverage_holds_under_strong_clustering(rate: float) -> None:
    # Beta-binomial replies, intra-dialogue correlation 1 / (1 + 2) = 1/3, 20 dialogues of 4.
    rng = np.random.default_rng(11)
    covered = plain = 0
    for _ in range(800):
        chances = rng.beta(2 * rate, 2 * (1 - rate), size=20)
        passes = rng.binomial(4, chances)
        low, high = clustered_interval([(int(p), 4) for p in passes])
        covered += low <= rate <= high
        low, high = wilson_interval(int(passes.sum()), 80)
        plain += low <= rate <= high
    assert covered / 800 >= 0.93
    assert plain / 800 < 0.9
