"""Simulated runs with a known rate: do the intervals cover it as often as they say.

Replies share the dialogue and the instruction. Whether a reply passes is a probit
model with crossed random effects,

    level + sqrt(d) * dialogue + sqrt(i) * instruction + sqrt(c) * case + noise > 0

all standard normal, the squared shares of the effects and the noise adding up to 1,
so that the true rate is exactly Phi(level). `scripts/checks/intervals.py` runs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from eval.metrics.area import turn_weights
from eval.metrics.statistics.clustered import Codes, Ways

Replies = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Design:
    """How many dialogues, cases of each, and instructions that take turns over the cases."""

    num_dialogues: int
    cases_per_dialogue: int
    num_instructions: int

    def __str__(self) -> str:
        return f"{self.num_dialogues}x{self.cases_per_dialogue}x{self.num_instructions}"

    @classmethod
    def parse(cls, text: str) -> Design:
        """Return the design of its short form, such as `60x4x20`."""
        return cls(*map(int, text.split("x")))

    def ways(self, rng: np.random.Generator) -> Ways:
        """Return the cases: dialogues in turn, instructions dealt from a shuffled deck."""
        num = self.num_dialogues * self.cases_per_dialogue
        num_decks = -(-num // self.num_instructions)
        decks = [rng.permutation(self.num_instructions) for _ in range(num_decks)]
        dialogue = np.arange(num, dtype=np.int64) % self.num_dialogues
        instruction = np.concatenate(decks)[:num].astype(np.int64)
        return Ways(dialogue, instruction, dialogue * self.num_instructions + instruction)


@dataclass(frozen=True, slots=True)
class Likeness:
    """Shares of the variance that replies of one dialogue, instruction or case have in common."""

    dialogue: float = 0.0
    instruction: float = 0.0
    case: float = 0.0


def runs(
    design: Design, likeness: Likeness, rates: npt.NDArray[np.float64], num: int, seed: int
) -> Iterator[tuple[Replies, Ways]]:
    """Yield `num` runs: whether each case passes at each turn `[T, N]`, and the cases `[N]`.

    Args:
        design: of every run; the instructions are dealt anew each time.
        likeness: what the replies share; all of it lasts over the turns.
        rates: the true rate at each turn `[T]`, each above 0 and below 1.
        num: how many runs.
        seed: of all of them.
    """
    rng = np.random.default_rng(seed)
    levels = np.array([NormalDist().inv_cdf(rate) for rate in rates])[:, None]
    rest = 1 - likeness.dialogue - likeness.instruction - likeness.case
    for _ in range(num):
        ways = design.ways(rng)
        shared = (
            np.sqrt(likeness.dialogue) * rng.standard_normal(design.num_dialogues)[ways.dialogue]
            + np.sqrt(likeness.instruction)
            * rng.standard_normal(design.num_instructions)[ways.instruction]
            + np.sqrt(likeness.case) * rng.standard_normal(len(ways.case))
        )
        noise = rng.standard_normal((len(rates), len(ways.case)))
        yield levels + shared + np.sqrt(rest) * noise > 0, ways


def paired_runs(
    design: Design,
    likeness: Likeness,
    rates: tuple[float, float],
    num: int,
    seed: int,
    num_turns: int = 1,
) -> Iterator[tuple[Replies, Ways]]:
    """Yield runs of two arms `[2, T * N]` on the same cases, one turn behind the other.

    Args:
        design: of every run.
        likeness: within each arm; the effect of a dialogue is the same for both.
        rates: of the two arms.
        num: how many runs.
        seed: of all of them.
        num_turns: T, all of these rates; what replies share lasts over them.
    """
    rng = np.random.default_rng(seed)
    levels = np.array([NormalDist().inv_cdf(rate) for rate in rates])[:, None]
    rest = 1 - likeness.dialogue - likeness.instruction - likeness.case
    for _ in range(num):
        ways = design.ways(rng)
        dialogue = rng.standard_normal(design.num_dialogues)
        both = rng.standard_normal(design.num_instructions)
        own = rng.standard_normal((2, design.num_instructions))
        # Half of the effect is common, so that an arm gains on some instructions and loses on others.
        instruction = np.sqrt(0.5) * both + np.sqrt(0.5) * own
        shared = (
            np.sqrt(likeness.dialogue) * dialogue[ways.dialogue]
            + np.sqrt(likeness.instruction) * instruction[:, ways.instruction]
            + np.sqrt(likeness.case) * rng.standard_normal(len(ways.case))
        )
        every_turn = np.tile(np.arange(len(ways.case)), num_turns)
        noise = rng.standard_normal((2, len(every_turn)))
        yield levels + shared[:, every_turn] + np.sqrt(rest) * noise > 0, ways.where(every_turn)


def true_area(turns: Codes, rates: npt.NDArray[np.float64]) -> float:
    """Return the area under a curve of true rates."""
    return float(turn_weights(turns) @ rates)
