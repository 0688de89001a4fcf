"""Which dialogues share a row. Plain values, no torch."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence


def best_fit(lengths: Sequence[int], capacity: int) -> list[list[int]]:
    """Return the indices of each row: best-fit decreasing, at most `capacity` tokens a row.

    The longest come first, and each goes where the least room is left after it;
    a new row is opened where none has room. At most 11/9 of the fewest possible
    rows and one more (Johnson et al., 1974). Indices within a row, and rows by
    their first index, are in order, so that equal lengths stay in the order given.

    Args:
        lengths: tokens of each dialogue.
        capacity: tokens of a row. A longer dialogue gets a row of its own.
    """
    rows: list[list[int]] = []
    room: list[tuple[int, int]] = []  # (tokens left, row), ascending
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        place = bisect_left(room, (lengths[index], -1))
        if place == len(room):
            left, row = capacity, len(rows)
            rows.append([])
        else:
            left, row = room.pop(place)
        rows[row].append(index)
        insort(room, (left - lengths[index], row))
    return sorted(sorted(row) for row in rows)
