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
    num_undecided: int
    """Outcomes that no verifier could decide; they are not in the rate."""


def clusters(outcomes: Sequence[Outcome]) -> dict[str, tuple[int, int]]:
    """Return (passes, decided) of each dialogue that has a decided outcome."""
    passes = Counter(o.dialogue for o in outcomes if o.status == "pass")
    decided = Counter(o.dialogue for o in outcomes if o.status != "undecided")
    return {dialogue: (passes[dialogue], total) for dialogue, total in decided.items()}


def rate_of(outcomes: Sequence[Outcome]) -> Rate:
    """Return the rate of outcomes, clustered by dialogue."""
    by_dialogue = clusters(outcomes)
    num_undecided = sum(o.status == "undecided" for o in outcomes)
    if not by_dialogue:
        return Rate(None, None, None, 0, num_undecided)
    low, high = clustered_interval(list(by_dialogue.values()))
    passes = sum(p for p, _ in by_dialogue.values())
    decided = sum(n for _, n in by_dialogue.values())
    return Rate(passes / decided, low, high, len(by_dialogue), num_undecided)
