"""Kept prefixes are bounded, and only a repeated encoding is logged."""

from __future__ import annotations

import logging

import pytest

from gatt.generation.local.prefix.cache import KeptPrefixes, Prefix

KEY = (None, "g")


def prefix(*ids: int) -> Prefix:
    made = Prefix()
    made.ids = ids
    return made


def test_a_prefix_comes_back_as_far_as_it_is_the_same() -> None:
    kept = KeptPrefixes(100)
    kept.put(KEY, prefix(1, 2, 3, 4))
    assert kept.ids(KEY) == (1, 2, 3, 4)
    found, num_again = kept.take(KEY, (1, 2, 9, 4, 5), 5)
    assert (found.ids, num_again) == ((1, 2), 0)
    assert len(kept) == 0
    assert kept.ids(KEY) == ()


def test_a_dropped_prefix_that_comes_back_is_counted_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kept = KeptPrefixes(3)
    for name in ("a", "b", "c"):
        kept.put((None, name), prefix(1, 2, 3))
    # Dropping alone is not told, and a new one is no repetition.
    kept.put((None, "long"), prefix(*range(7)))
    assert len(kept) == 0
    kept.put((None, "c"), prefix(1, 2, 3))
    with caplog.at_level(logging.WARNING):
        assert not caplog.records
        assert kept.take((None, "a"), (1, 2, 3, 4), 2)[1] == 2
        assert kept.take((None, "b"), (1, 2, 3, 4), 4)[1] == 3
        # It was counted before.
        assert kept.take((None, "b"), (1, 2, 3, 4), 4)[1] == 0
    found, num_again = kept.take((None, "c"), (1, 2, 3), 3)
    assert (found.ids, num_again) == ((1, 2, 3), 0)
    (told,) = caplog.messages
    assert [fact for fact in (" 3 ", "max_kept_tokens") if fact not in told] == []


def test_a_prefix_encoded_again_part_by_part_is_counted_whole() -> None:
    kept = KeptPrefixes(4)
    kept.put(KEY, prefix(1, 2, 3, 4))
    kept.put((None, "other"), prefix(7, 8, 9))
    found, num_again = kept.take(KEY, (1, 2, 3, 4, 5), 2)
    assert (found.ids, num_again) == ((), 2)
    found.ids = (1, 2)
    kept.put(KEY, found)
    found, num_again = kept.take(KEY, (1, 2, 3, 4, 5), 5)
    assert (found.ids, num_again) == ((1, 2), 2)
    assert kept.take(KEY, (1, 2, 3, 4, 5), 5)[1] == 0
    kept.put((None, "third"), prefix(*range(9)))
    kept.forget()
    assert kept.take((None, "third"), range(9), 9)[1] == 0
