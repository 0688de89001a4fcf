"""A small version of `scripts/checks/intervals.py`: intervals cover what they say."""

from __future__ import annotations

import numpy as np
import pytest
from checks.coverage import (
    coverage_of_areas,
    coverage_of_differences,
    coverage_of_power,
    coverage_of_rates,
)
from checks.simulated import Design, Likeness, paired_runs, runs

CROSSED = Design(60, 4, 20)
"""Every instruction stands over twelve dialogues."""
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
        assert found.covered["dialogues only"] < 0.9
        assert found.covered["bootstrap of dialogues"] < 0.9
        assert found.covered["wilson"] < 0.9


@pytest.mark.parametrize("rate", [0.01, 0.99])
def test_near_0_and_1_intervals_are_conservative(rate: float) -> None:
    for design in (Design(30, 1, 30), CROSSED):
        (found,) = coverage_of_rates(design, Likeness(0.2, 0.3), [rate], NUM_RUNS)
        assert found.covered["ours"] > 0.95 - SLACK
        assert found.covered["two-way standard error"] < 0.9


def test_areas_cover() -> None:
    falling = [0.9, 0.7, 0.5, 0.3, 0.2]
    (found,) = coverage_of_areas(
        CROSSED, Likeness(0.2, 0.3, 0.2), [1, 2, 4, 8, 20], [falling], NUM_RUNS // 2
    )
    assert found.truth == pytest.approx((0.8 + 0.6 * 2 + 0.4 * 4 + 0.25 * 12) / 19)
    assert 0.93 - 0.03 < found.covered["ours"] < 0.99


def test_an_area_that_rare_cases_decide_is_covered() -> None:
    # All of it hangs on whether one or two of 30 cases last: a variance pooled over turns covers 77 %.
    steep = [0.9, 0.1, 0.05, 0.05, 0.05]
    (found,) = coverage_of_areas(
        Design(30, 1, 30), Likeness(0.1, 0.7, 0.2), [1, 2, 4, 8, 20], [steep], NUM_RUNS
    )
    assert 0.93 - SLACK < found.covered["ours"] < 0.985


def test_differences_cover_and_equal_arms_are_rarely_told_apart() -> None:
    equal, apart = coverage_of_differences(
        CROSSED, Likeness(0.2, 0.4), [(0.3, 0.3), (0.8, 0.3)], NUM_RUNS
    )
    for found in (equal, apart):
        assert 0.93 - SLACK < found.covered["ours"] < 0.985
    assert equal.rejected is not None
    assert equal.rejected < 0.05 + SLACK
    assert apart.rejected == 1.0


def test_turns_that_are_pooled_are_no_more_dialogues() -> None:
    likeness = Likeness(0.2, 0.2, 0.3)
    (one,) = coverage_of_differences(CROSSED, likeness, [(0.3, 0.3)], NUM_RUNS // 2)
    (five,) = coverage_of_differences(CROSSED, likeness, [(0.3, 0.3)], NUM_RUNS // 2, num_turns=5)
    assert (one.what, five.what) == ("difference", "difference, 5 turns")
    assert five.covered["ours"] > 0.93 - 1.5 * SLACK
    assert five.rejected is not None
    assert five.rejected < 0.05 + 1.5 * SLACK
    # Five replies of a case say more than one, and not as much as five cases.
    assert one.width["ours"] / 5**0.5 < five.width["ours"] < one.width["ours"]


def test_the_detectable_difference_is_found_in_four_of_five_runs() -> None:
    found = coverage_of_power(Design(60, 1, 60), Likeness(0.3), 0.3, NUM_RUNS // 2)
    assert found.rejected is not None
    assert 0.8 - 0.03 < found.rejected < 0.97


def test_simulated_runs_have_the_rate_and_the_likeness_that_they_say() -> None:
    design = Design(40, 1, 10)
    alike = list(runs(design, Likeness(instruction=0.99), np.array([0.3, 0.3]), 200, seed=1))
    assert np.mean([passed for passed, _ in alike]) == pytest.approx(0.3, abs=0.05)
    first, ways = alike[0]
    by_instruction = [first[0][ways.instruction == code].mean() for code in range(10)]
    assert sum(0.2 < share < 0.8 for share in by_instruction) <= 2
    arms = [p for p, _ in paired_runs(design, Likeness(0.3), (0.8, 0.2), 200, seed=1)]
    assert np.mean(arms, axis=(0, 2)) == pytest.approx([0.8, 0.2], abs=0.03)


def test_designs_deal_instructions_evenly() -> None:
    ways = Design.parse("6x2x4").ways(np.random.default_rng(0))
    assert np.bincount(ways.dialogue).tolist() == [2] * 6
    assert np.bincount(ways.instruction).tolist() == [3] * 4
    assert str(Design(6, 2, 4)) == "6x2x4"


@pytest.mark.parametrize("text", ["60x4", "60x0x2", "axbxc", "1x2x3x4"])
def test_a_broken_design_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"design '{text}': expected dialogues x cases x instruct"):
        Design.parse(text)
