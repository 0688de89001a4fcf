"""After a change of the instruction: is the new one followed, is the old one let go.

`turn` in their records counts turns since the change: 0 is the reply to the message that announces it.
For leakage it is the last change that ended something, for adherence the last of any kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from eval.metrics.outcomes import Outcome
from eval.metrics.per_reply.adherence import is_asked_to_adhere
from eval.records.samples import Kind, Sample

SINCE_SWITCH = frozenset({"adherence_since_switch", "leakage", "probe_leakage"})
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

    Here a pass is the error. `vacuous_leakage`, the same of the dialogue's own replies, shows what the
    verifiers pass by chance. Counted under the instruction that has ended, its family and split.

    Of a combination one entry is enough. Where an entry has several rules, only a reply that follows all
    of them counts. Entries that hold again, or that ordinary replies follow, are left out.
    """
    return _leaks(samples, "turn")


def probe_leakage(samples: Iterable[Sample]) -> Iterator[Outcome]:
    """Yield whether answers to a probe still give what the instruction said that was taken back.

    A pass is the error. After a replacement the probe asks for the new instruction: nothing is counted.
    """
    return _leaks(samples, "probe")


def _leaks(samples: Iterable[Sample], kind: Kind) -> Iterator[Outcome]:
    for sample in samples:
        if sample.kind == kind and sample.leak is not None and sample.ended is not None:
            old, (_, first, _) = sample.ended, sample.case
            under = replace(
                sample, instruction=old, family=old.family, split=old.split, given=first
            )
            yield Outcome(under, sample.leak, sample.since_end)
