"""A small version of `scripts/checks/intervals.py`: intervals cover what they say."""

from __future__ import annotations

import pytest
from checks.intervals import (
    Design,
    Likeness,
    coverage_of_differences,
    coverage_of_power,
    coverage_of_rates,
)

CROSSED = Design(60, 4, 20)
"""Every instruction stands over twelve dialogues."""
ALONE = Design(30, 1, 30)
TURNS = (1, 2, 4, 8, 20)
NUM_RUNS = 600
# Two standard errors of a share of 0.95 over so many runs.
SLACK = 0.018


@pytest.mark.parametrize("instruction", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("rate", [0.2, 0.5, 0.9])
def test_intervals_cover_where_replies_share_dialogue_and_instruction(
    rate: float, instruction: float
) -> None:
    (found,) = coverage_of_rates(CROSSED, Likeness(0.2, instruction), [rate], NUM_RUNS)
    assert 0.93 - SLACK < found.covered["ours"] < 0.985
    if instruction:
        # What knows of dialogues alone, or of nothing, is far too sure.
        for name in ("dialogues only", "bootstrap of dialogues", "wilson"):
            assert found.covered[name] < 0.9


@pytest.mark.parametrize("rate", [0.01, 0.99])
def test_near_0_and_1_intervals_are_conservative(rate: float) -> None:
    for design in (ALONE, CROSSED):
        (found,) = coverage_of_rates(design, Likeness(0.2, 0.3), [rate], NUM_RUNS)
        assert found.covered["ours"] > 0.95 - SLACK
        assert found.covered["two-way standard error"] < 0.9


def test_differences_cover_and_equal_arms_are_rarely_told_apart() -> None:
    equal, apart = coverage_of_differences(
        CROSSED, Likeness(0.2, 0.4), [(0.3, 0.3), (0.8, 0.3)], NUM_RUNS
    )
    for found in (equal, apart):
        assert 0.93 - SLACK < found.covered["ours"] < 0.985
    assert equal.rejected < 0.05 + SLACK
    assert apart.rejected == 1.0


def test_the_detectable_difference_is_found_in_four_of_five_runs() -> None:
    found = coverage_of_power(Design(60, 1, 60), Likeness(0.3), 0.3, NUM_RUNS // 2)
    assert 0.8 - 0.03 < found.rejected < 0.97
