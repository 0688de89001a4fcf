from __future__ import annotations

import pytest

from eval.metrics.statistics.student_t import t_quantile


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
def test_quantiles_match_the_printed_table(degrees: int, quantile: float) -> None:
    assert t_quantile(0.95, degrees) == pytest.approx(quantile, abs=5e-5)


@pytest.mark.parametrize(
    ("central", "degrees", "quantile"), [(0.6, 10, 0.8791), (0.99, 1, 63.6567), (0.8, 1000, 1.2824)]
)
def test_other_probabilities_match_it_too(central: float, degrees: int, quantile: float) -> None:
    assert t_quantile(central, degrees) == pytest.approx(quantile, abs=5e-5)


def test_no_degree_of_freedom_is_refused() -> None:
    with pytest.raises(ValueError, match="0 degrees of freedom: expected at least 1"):
        t_quantile(0.95, 0)
