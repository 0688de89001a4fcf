"""Best-fit rows: by hand, and never over-full or lossy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatt.comb.packing import best_fit


@pytest.mark.parametrize(
    ("lengths", "capacity", "expected"),
    [
        ([], 10, []),
        ([4, 4, 4], 8, [[0, 1], [2]]),
        ([6, 5, 4, 3, 2], 10, [[0, 2], [1, 3, 4]]),
        ([2, 7, 5, 3], 10, [[0, 2], [1, 3]]),  # 3 fits 7 best
        ([12, 1], 10, [[0], [1]]),  # too long for any row: alone
    ],
)
def test_rows_by_hand(lengths, capacity, expected) -> None:
    assert best_fit(lengths, capacity) == expected


@given(lengths=st.lists(st.integers(1, 50), max_size=60), capacity=st.integers(50, 120))
def test_every_dialogue_is_in_one_row_that_holds_it(lengths, capacity) -> None:
    rows = best_fit(lengths, capacity)
    assert sorted(i for row in rows for i in row) == list(range(len(lengths)))
    assert all(sum(lengths[i] for i in row) <= capacity for row in rows)
    # No two rows could be one.
    sizes = sorted(sum(lengths[i] for i in row) for row in rows)
    assert len(sizes) < 2 or sizes[0] + sizes[1] > capacity
    assert rows == best_fit(lengths, capacity)
