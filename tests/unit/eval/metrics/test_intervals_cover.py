"""Intervals hold the truth as often as they say, in simulated runs whose true rates are known.

A design is dialogues x cases of each x instructions; replies share the dialogue and the instruction. Whether
a reply passes is a probit model with crossed random effects,

    level + sqrt(d) * dialogue + sqrt(i) * instruction + sqrt(c) * case + noise > 0,

all standard normal, the squared shares adding up to 1, so that the true rate is exactly Phi(level). More
designs, and three other kinds of intervals: results/archive/intervals.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pytest

from eval.metrics.intervals import Ways, crossed_interval, paired_interval, wilson_interval
from eval.metrics.paired import sign_flip_p_value

NUM_RUNS = 600
# Two standard errors of a share of 0.95 over so many runs.
SLACK = 0.018


@dataclass(frozen=True)
class Design:
    num_dialogues: int
    cases_per_dialogue: int
    num_instructions: int

    def ways(self, rng: np.random.Generator) -> Ways:
        """Return the cases: dialogues in turn, instructions dealt from a shuffled deck."""
        num = self.num_dialogues * self.cases_per_dialogue
        num_decks = -(-num // self.num_instructions)
        decks = [rng.permutation(self.num_instructions) for _ in range(num_decks)]
        dialogue = np.arange(num, dtype=np.int64) % self.num_dialogues
        instruction = np.concatenate(decks)[:num].astype(np.int64)
        return Ways(dialogue, instruction, dialogue * self.num_instructions + instruction)


CROSSED = Design(60, 4, 20)
"""Every instruction stands over twelve dialogues."""
ALONE = Design(30, 1, 30)


def runs(
    design: Design,
    rates: tuple[float, float],
    *,
    dialogue: float = 0.2,
    instruction: float,
    case: float = 0.0,
    num_turns: int = 1,
    num: int = NUM_RUNS,
) -> Iterator[tuple[npt.NDArray[np.bool_], Ways]]:
    """Yield runs of two arms `[2, T * N]` on the same cases, one turn behind the other.

    `dialogue`, `instruction` and `case` are the shares of the variance that their replies have in common. The
    effect of a dialogue is the same for both arms; half of that of an instruction is, so that an arm gains on
    some instructions and loses on others.
    """
    rng = np.random.default_rng(0)
    levels = np.array([NormalDist().inv_cdf(rate) for rate in rates])[:, None]
    rest = 1 - dialogue - instruction - case
    for _ in range(num):
        ways = design.ways(rng)
        of_instruction = np.sqrt(0.5) * (
            rng.standard_normal(design.num_instructions)
            + rng.standard_normal((2, design.num_instructions))
        )
        shared = (
            np.sqrt(dialogue) * rng.standard_normal(design.num_dialogues)[ways.dialogue]
            + np.sqrt(instruction) * of_instruction[:, ways.instruction]
            + np.sqrt(case) * rng.standard_normal(len(ways.case))
        )
        turns = np.tile(np.arange(len(ways.case)), num_turns)
        noise = rng.standard_normal((2, len(turns)))
        yield levels + shared[:, turns] + np.sqrt(rest) * noise > 0, ways.where(turns)


def covered(bounds: list[tuple[float, float]], truth: float) -> float:
    return sum(low <= truth <= high for low, high in bounds) / len(bounds)


@pytest.mark.parametrize("instruction", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("rate", [0.2, 0.5, 0.9])
def test_intervals_cover_where_replies_share_dialogue_and_instruction(rate, instruction) -> None:
    made = [(p[0], ways) for p, ways in runs(CROSSED, (rate, rate), instruction=instruction)]
    ours = [crossed_interval(passed.astype(np.float64), ways) for passed, ways in made]
    assert 0.93 - SLACK < covered(ours, rate) < 0.985
    if instruction:
        # An interval that takes all replies for independent is far too sure.
        plain = [wilson_interval(int(passed.sum()), len(passed)) for passed, _ in made]
        assert covered(plain, rate) < 0.9


@pytest.mark.parametrize("rate", [0.01, 0.99])
@pytest.mark.parametrize("design", [ALONE, CROSSED])
def test_near_0_and_1_intervals_are_conservative(design: Design, rate: float) -> None:
    made = runs(design, (rate, rate), instruction=0.3)
    bounds = [crossed_interval(passed[0].astype(np.float64), ways) for passed, ways in made]
    assert covered(bounds, rate) > 0.95 - SLACK


@dataclass(frozen=True)
class Differences:
    covered: float
    rejected: float
    """Share of runs with a p-value below 0.05."""
    width: float


def differences(made: Iterator[tuple[npt.NDArray[np.bool_], Ways]], truth: float) -> Differences:
    bounds, p_values = [], []
    for passed, ways in made:
        found = passed[0].astype(np.int64) - passed[1].astype(np.int64)
        bounds.append(paired_interval(found, ways)[1:])
        p_values.append(sign_flip_p_value(found, ways))
    width = float(np.mean([high - low for low, high in bounds]))
    return Differences(covered(bounds, truth), float(np.mean(np.array(p_values) < 0.05)), width)


def test_differences_cover_and_equal_arms_are_rarely_told_apart() -> None:
    equal = differences(runs(CROSSED, (0.3, 0.3), instruction=0.4), 0)
    apart = differences(runs(CROSSED, (0.8, 0.3), instruction=0.4), 0.5)
    for found in (equal, apart):
        assert 0.93 - SLACK < found.covered < 0.985
    assert equal.rejected < 0.05 + SLACK
    assert apart.rejected == 1.0


def test_turns_that_are_pooled_are_no_more_dialogues() -> None:
    one, five = (
        differences(
            runs(CROSSED, (0.3, 0.3), instruction=0.2, case=0.3, num_turns=num, num=NUM_RUNS // 2),
            0,
        )
        for num in (1, 5)
    )
    assert five.covered > 0.93 - 1.5 * SLACK
    assert five.rejected < 0.05 + 1.5 * SLACK
    # Five replies of a case say more than one, and not as much as five cases.
    assert one.width / 5**0.5 < five.width < one.width
