"""Events: how an instruction holds when the user jumps topics, quotes text or asks to drop it."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from eval.metrics.curves import by_arm
from eval.metrics.outcomes import ALL, Outcome, Rate, Rows, rate_of
from eval.metrics.per_reply import by_case
from eval.records.events import TOPIC_JUMP
from eval.records.samples import Sample
from gatt.data.switches import SWITCH_KINDS

TURNS_SINCE = (0, 1, 2, 4, 8)
"""Where the ranges of turns since the event begin: 0, 1, 2 and 3, 4 to 7, 8 and more."""


@dataclass(frozen=True, kw_only=True)
class EventPoint(Rate):
    """One rate of an arm's ordinary replies at, or some turns after, an event.

    A reply passes if it does what is expected: keep the instruction, or leave it alone once the user
    has released the model from it.
    """

    arm: str
    history: str
    split: str
    family: str
    event: str
    """What the user did, such as `topic_jump`."""
    turns_since: int
    """First of the range of turns since the event; 0 is the reply to the event itself."""
    turns_until: int | None
    """Last of the range, None for the open one."""
    num_released: int
    """Replies from which leaving the instruction alone was expected, undecided ones included."""


def events(samples: Iterable[Sample]) -> list[EventPoint]:
    """Return the rates of every event, over all turns at which it came.

    A reply counts for the last event of its case up to its turn; turns before the first event count for
    none. A topic jump after a change of the instruction is not counted as an event: what is cancelled
    must stay cancelled under any topic.
    """
    found = []
    for (arm, history), members in by_arm(samples).items():
        groups: dict[tuple[str, int], list[Outcome]] = defaultdict(list)
        for event, since, sample in _since_events(members):
            groups[event, since].append(Outcome(sample, sample.status))
        for (event, since), outcomes in sorted(groups.items()):
            after = [t for t in TURNS_SINCE if t > since]
            released = Counter(
                (split, family)
                for sample in (o.sample for o in outcomes if o.sample.expected == "released")
                for split in (ALL, sample.split)
                for family in (ALL, sample.family)
            )
            found += [
                EventPoint(
                    arm=arm,
                    history=history,
                    split=split,
                    family=family,
                    event=event,
                    turns_since=since,
                    turns_until=after[0] - 1 if after else None,
                    num_released=released[split, family],
                    **vars(rate_of(rows)),
                )
                for split, family, rows in Rows.of(outcomes).slices()
            ]
    return found


def _since_events(samples: Iterable[Sample]) -> Iterator[tuple[str, int, Sample]]:
    """Yield event, start of the range of turns since it, and sample."""
    for case in by_case(s for s in samples if s.kind == "turn" and s.instruction is not None):
        event, at = None, 0
        for sample in case:
            is_late_jump = event in SWITCH_KINDS and sample.event == TOPIC_JUMP
            if sample.event is not None and not is_late_jump:
                event, at = sample.event, sample.turn
            if event is not None:
                since = TURNS_SINCE[bisect_right(TURNS_SINCE, sample.turn - at) - 1]
                yield event, since, sample
