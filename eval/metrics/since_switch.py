"""After a change of the instruction: is the new one followed, is the old one let go.

Both count turns from the change on: their records have in `turn` how many turns
ago it was, 0 for the reply to the message that announces it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from eval.metrics.adherence import is_asked_to_adhere
from eval.metrics.outcomes import Outcome
from eval.samples import Sample

SINCE_SWITCH = frozenset({"adherence_since_switch", "leakage"})
"""Metrics whose turns are counted from the change on."""


def adherence_since_switch(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield the status of every ordinary reply under what is in force since a change.

    Where an instruction was taken back and nothing came in its place, nothing is
    counted: see `leakage`.
    """
    return (
        Outcome(s, s.status, s.since_switch)
        for s in samples
        if s.since_switch is not None and is_asked_to_adhere(s)
    )


def leakage(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield whether ordinary replies still follow an instruction that was replaced or taken back.

    Here a pass is the error. What its verifiers pass by chance shows in
    `vacuous_leakage`, the same of the dialogue's own replies, and in the rate of
    an arm that never followed it.
    """
    return (
        Outcome(s, s.leak, s.since_switch)
        for s in samples
        if s.kind == "turn" and s.leak is not None and s.since_switch is not None
    )
