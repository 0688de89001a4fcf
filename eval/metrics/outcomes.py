"""What every metric hands on: statuses by turn, and how they become a rate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eval.metrics.clustered import clustered_interval
from gatt.verifiers.base import Status


@dataclass(frozen=True, slots=True)
class Outcome:
    """One thing counted at one turn: a reply, or a case that lives or does not."""

    dialogue: str
    status: Status


Outcomes = Mapping[int, Sequence[Outcome]]
"""Turn -> what was counted there."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Passes over passes and fails, with its 95 % interval.

    `rate`, `low` and `high` are None where nothing was decided: not measured is
    not zero.
    """

    rate: float | None
    low: float | None
    high: float | None
    num_dialogues: int
    """Dialogues with at least one decided outcome: what the rate rests on."""
    num_passed: int
    num_decided: int
    """Outcomes that passed, and those that passed or failed: the rate's two numbers."""
    num_undecided: int
    """Outcomes that no verifier could decide; they are not in the rate."""
    pessimistic: float
    optimistic: float
    """The rate over all outcomes if every undecided one had gone badly, or well."""


def clusters(outcomes: Sequence[Outcome]) -> dict[str, tuple[int, int]]:
    """Return (passes, decided) of each dialogue that has a decided outcome."""
    passes = Counter(o.dialogue for o in outcomes if o.status == "pass")
    decided = Counter(o.dialogue for o in outcomes if o.status != "undecided")
    return {dialogue: (passes[dialogue], total) for dialogue, total in decided.items()}


def rate_of(outcomes: Sequence[Outcome], *, is_pass_good: bool = True) -> Rate:
    """Return the rate of outcomes, clustered by dialogue.

    Args:
        outcomes: at least one.
        is_pass_good: False where a pass is the error; then the pessimistic rate
            counts undecided outcomes as passed.
    """
    by_dialogue = clusters(outcomes)
    passes = sum(p for p, _ in by_dialogue.values())
    decided = sum(n for _, n in by_dialogue.values())
    undecided = len(outcomes) - decided
    if_failed, if_passed = passes / len(outcomes), (passes + undecided) / len(outcomes)
    rate = low = high = None
    if decided:
        rate = passes / decided
        low, high = clustered_interval(list(by_dialogue.values()))
    return Rate(
        rate=rate,
        low=low,
        high=high,
        num_dialogues=len(by_dialogue),
        num_passed=passes,
        num_decided=decided,
        num_undecided=undecided,
        pessimistic=if_failed if is_pass_good else if_passed,
        optimistic=if_passed if is_pass_good else if_failed,
    )
