from __future__ import annotations

from typing import Any

from eval.metrics.events import EventPoint, events
from eval.records.samples import Sample
from tests.support.runs.fake_samples import sample


def case(letters: str, *, dialogue: str = "d1", **changes: Any) -> list[Sample]:
    """Turns from 1 on: p(ass) or f(ail)."""
    words = {"p": "pass", "f": "fail"}
    return [
        sample(dialogue=dialogue, turn=turn, status=words[letter], **changes)
        for turn, letter in enumerate(letters, start=1)
    ]


def at(samples: list[Sample], turn: int, event: str) -> list[Sample]:
    """The same with an event at a turn."""
    return [
        sample(**{**{k: getattr(s, k) for k in s.__slots__}, "event": event})
        if s.turn == turn
        else s
        for s in samples
    ]


def found(samples: list[Sample], **wanted: Any) -> dict[tuple[str, int], EventPoint]:
    wanted = {"split": "all", "family": "all"} | wanted
    return {
        (p.event, p.turns_since): p
        for p in events(samples)
        if all(getattr(p, k) == v for k, v in wanted.items())
    }


def test_rates_follow_the_turns_since_the_event() -> None:
    # Topic jump at turn 2 of ten: since 0 is turn 2, 1 is 3, 2 is 4 and 5, 4 is 6 to 9, 8 is 10.
    points = found(at(case("ppfpfppffp"), 2, "topic_jump"))
    assert {
        since: (p.num_passed, p.num_decided, p.turns_until) for (_, since), p in points.items()
    } == {0: (1, 1, 0), 1: (0, 1, 1), 2: (1, 2, 3), 4: (2, 4, 7), 8: (1, 1, None)}


def test_the_last_event_counts_and_nothing_before_the_first() -> None:
    made = at(at(case("fppf"), 2, "topic_jump"), 4, "asks_to_drop")
    points = found(made)
    assert {key: p.rate for key, p in points.items()} == {
        ("topic_jump", 0): 1.0,
        ("topic_jump", 1): 1.0,
        ("asks_to_drop", 0): 0.0,
    }


def test_a_topic_jump_does_not_end_what_a_cancellation_began() -> None:
    """Cancelled at turn 2, a seam at turn 4: turns 4 and 5 still show if it stays dead."""
    made = at(at(case("pppff", expected="released"), 2, "cancel"), 4, "topic_jump")
    points = found(made)
    assert {since: (p.num_passed, p.num_decided) for (_, since), p in points.items()} == {
        0: (1, 1), 1: (1, 1), 2: (0, 2),
    }  # fmt: skip
    assert {event for event, _ in points} == {"cancel"}


def test_released_replies_count_by_what_was_expected_of_them() -> None:
    made = at(case("p", expected="released"), 1, "asks_to_drop")
    made += at(case("f", dialogue="d2"), 1, "asks_to_drop")
    point = found(made)["asks_to_drop", 0]
    assert (point.rate, point.num_dialogues, point.num_released) == (0.5, 2, 1)
