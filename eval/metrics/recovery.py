"""Recovery: of the replies that missed, how many are followed by one that adheres again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise

from eval.metrics.outcomes import Outcome


def recovery(outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
    """Yield, for every miss with a later judged turn in its case, the outcome there.

    A pass is a recovery; an undecided next reply leaves it open, and the miss at
    a case's last judged turn is not counted.

    Args:
        outcomes: of `adherence` or its like, of one arm and history, in any order.
    """
    cases: dict[tuple[str, str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        cases[outcome.sample.case].append(outcome)
    for case in cases.values():
        for outcome, after in pairwise(sorted(case, key=lambda o: o.sample.turn)):
            if outcome.status == "fail":
                yield after
