"""Hold the intervals against simulated runs whose true rates are known.

    python scripts/checks/intervals.py --design 60x4x20 --json runs/intervals_60x4x20.json

A design is dialogues x cases of each x instructions; replies share the dialogue and the instruction.
Whether a reply passes is a probit model with crossed random effects,

    level + sqrt(d) * dialogue + sqrt(i) * instruction + sqrt(c) * case + noise > 0

all standard normal, the squared shares of the effects and the noise adding up to 1, so that the true
rate is exactly Phi(level). Rates are compared with the published two-way standard error, with intervals
that know of dialogues alone, with a percentile bootstrap of dialogues and with plain Wilson.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from scipy.special import stdtrit

from eval.metrics.intervals import (
    Ways,
    crossed_interval,
    num_groups,
    paired_interval,
    wilson_interval,
)
from eval.metrics.paired import sign_flip_p_value
from gatt.runs.provenance import provenance

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


Interval = tuple[float, float]
NUM_RESAMPLES = 1000
"""Of the bootstrap that the intervals are compared with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Share of runs whose interval holds the true value, for each way of making it."""

    what: str
    """`rate`, or `difference` (at a turn, or of so many pooled)."""
    design: str
    """Dialogues x cases of each x instructions."""
    likeness: Mapping[str, float]
    truth: float
    covered: Mapping[str, float]
    width: Mapping[str, float]
    """Mean width of the intervals."""
    num_runs: int
    rejected: float | None = None
    """Of differences: share of runs with a p-value below 0.05."""


def coverage_of_rates(
    design: Design, likeness: Likeness, rates: Sequence[float], num_runs: int, seed: int = 0
) -> list[Coverage]:
    """Return coverage at one turn, for each true rate: ours, and three that know less."""
    found = []
    for index, rate in enumerate(rates):
        made = runs(design, likeness, np.array([rate]), num_runs, seed + index)
        intervals = (
            _of_rate(passed[0].astype(np.float64), ways, n) for n, (passed, ways) in enumerate(made)
        )
        found.append(_coverage("rate", design, likeness, rate, intervals))
    return found


def coverage_of_differences(
    design: Design,
    likeness: Likeness,
    rates: Sequence[tuple[float, float]],
    num_runs: int,
    seed: int = 0,
    num_turns: int = 1,
) -> list[Coverage]:
    """Return coverage of the difference of two arms, and how often the test rejects equality.

    With several turns these are pooled, as in the differences over all turns.
    """
    what = "difference" if num_turns == 1 else f"difference, {num_turns} turns"
    found = []
    for index, pair in enumerate(rates):
        p_values: list[float] = []
        made = paired_runs(design, likeness, pair, num_runs, seed + index, num_turns=num_turns)
        intervals = (_of_difference(passed, ways, p_values) for passed, ways in made)
        record = _coverage(what, design, likeness, pair[0] - pair[1], intervals)
        found.append(replace(record, rejected=float(np.mean(np.array(p_values) < 0.05))))
    return found


def _of_rate(passed: npt.NDArray[np.float64], ways: Ways, seed: int) -> dict[str, Interval]:
    sums = np.bincount(ways.dialogue, passed).astype(int)
    sizes = np.bincount(ways.dialogue)
    dialogues = Ways(ways.dialogue, np.zeros_like(ways.dialogue), ways.dialogue)
    return {
        "ours": crossed_interval(passed, ways),
        "two-way standard error": _two_way(passed, ways),
        "dialogues only": crossed_interval(passed, dialogues),
        "bootstrap of dialogues": _bootstrap(sums, sizes, seed),
        "wilson": wilson_interval(int(passed.sum()), len(passed)),
    }


def _of_difference(passed: Replies, ways: Ways, p_values: list[float]) -> dict[str, Interval]:
    differences = passed[0].astype(np.int64) - passed[1].astype(np.int64)
    _, low, high = paired_interval(differences, ways)
    p_values.append(sign_flip_p_value(differences, ways))
    return {"ours": (low, high)}


def _two_way(passed: npt.NDArray[np.float64], ways: Ways) -> Interval:
    """Return the interval of Cameron, Gelbach and Miller (2011): rate +- t * two-way standard error.

    Degrees of freedom: the smaller number of groups, less one. A variance below 0 is the larger one-way
    variance, as they advise.
    """
    mean = float(passed.mean())

    def variance(groups: npt.NDArray[np.int64]) -> float:
        num, sums = num_groups(groups), np.bincount(groups, passed - mean) / len(passed)
        return num / (num - 1) * float(sums @ sums)

    dialogue, instruction = variance(ways.dialogue), variance(ways.instruction)
    both = dialogue + instruction - variance(ways.case)
    both = both if both > 0 else max(dialogue, instruction)
    degrees = min(num_groups(ways.dialogue), num_groups(ways.instruction)) - 1
    half = float(stdtrit(degrees, 0.975)) * both**0.5
    return max(0.0, mean - half), min(1.0, mean + half)


def _bootstrap(passed: npt.NDArray[np.int64], total: npt.NDArray[np.int64], seed: int) -> Interval:
    """Return the percentile interval of whole dialogues drawn with replacement."""
    kinds, counts = np.unique(np.stack([passed, total], axis=1), axis=0, return_counts=True)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(passed), counts / len(passed), size=NUM_RESAMPLES) @ kinds
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], (0.025, 0.975))
    return float(low), float(high)


def _coverage(
    what: str,
    design: Design,
    likeness: Likeness,
    truth: float,
    intervals: Iterator[Mapping[str, Interval]],
) -> Coverage:
    made = list(intervals)
    bounds = {name: np.array([run[name] for run in made]) for name in made[0]}
    return Coverage(
        what=what,
        design=str(design),
        likeness=asdict(likeness),
        truth=truth,
        covered={
            name: float(np.mean((b[:, 0] <= truth) & (truth <= b[:, 1])))
            for name, b in bounds.items()
        },
        width={name: float(np.mean(b[:, 1] - b[:, 0])) for name, b in bounds.items()},
        num_runs=len(made),
    )


LIKENESSES = (
    Likeness(),
    Likeness(dialogue=0.4),
    Likeness(instruction=0.4),
    Likeness(dialogue=0.3, instruction=0.3),
    Likeness(dialogue=0.1, instruction=0.7),
)
RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.99)
NUM_TURNS = 5
PAIRS = ((0.3, 0.3), (0.5, 0.3), (0.9, 0.5), (0.9, 0.05), (0.1, 0.02))


def main() -> None:
    """Run the simulation of one design."""
    args = arguments()
    design = Design.parse(args.design)
    start = time.perf_counter()
    found: list[Coverage] = []
    for likeness in LIKENESSES:
        found += coverage_of_rates(design, likeness, RATES, args.runs, args.seed)
        lasting = Likeness(likeness.dialogue, likeness.instruction, 0.2)
        few = args.runs // 4
        found += coverage_of_differences(design, likeness, PAIRS, few, args.seed)
        found += coverage_of_differences(design, lasting, PAIRS, few, args.seed, NUM_TURNS)
    show(found)
    if args.json:
        report = {
            "settings": {"design": args.design, "runs": args.runs, "seed": args.seed},
            "seconds": round(time.perf_counter() - start, 1),
            "provenance": provenance(),
            "coverage": [asdict(record) for record in found],
        }
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def show(found: list[Coverage]) -> None:
    """Print the table."""
    methods = list(found[0].covered)
    table = Table("what", "likeness", "truth", *methods, "p < 0.05")
    for record in found:
        shares = [f"{100 * record.covered[m]:.1f}" if m in record.covered else "" for m in methods]
        likeness = "/".join(f"{value:g}" for value in record.likeness.values())
        rejected = "" if record.rejected is None else f"{record.rejected:.3f}"
        table.add_row(record.what, likeness, f"{record.truth:.3f}", *shares, rejected)
    Console().print(table)


def arguments() -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--design", default="60x4x20", help="dialogues x cases x instructions")
    parser.add_argument("--runs", type=int, default=2000, help="runs for each true rate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="where to write all numbers")
    return parser.parse_args()


if __name__ == "__main__":
    main()
