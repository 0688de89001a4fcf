"""Prefixes side by side: each is unchanged, and every row reads its own with little waste."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gatt.generation.local.prefix.cache import Prefix
from gatt.generation.local.prefix.stack import (
    MOST_IDLE,
    MOST_PAIRS,
    PrefixStack,
    SharedPrefixes,
    _products,
)

KV_HEADS, SIZE, LAYERS = 2, 4, 3
CPU = torch.device("cpu")


def filled(length: int, seed: int) -> Prefix:
    torch.manual_seed(seed)
    prefix = Prefix()
    for layer in range(LAYERS):
        keys, values = torch.randn(2, KV_HEADS, length, SIZE)
        prefix.write(layer, 0, keys, values)
    prefix.ids += tuple(range(length))
    return prefix


def stacked(lengths: Sequence[int], reaches: Sequence[int] | None = None) -> PrefixStack:
    """Return a stack of the groups 10, 11, …, of prefixes filled by their lengths."""
    read = zip(lengths, reaches or lengths, strict=True)
    return PrefixStack({10 + i: (filled(n, n), reach) for i, (n, reach) in enumerate(read)})


def is_held(stack: PrefixStack, place: int, length: int, reach: int) -> bool:
    """Whether a place of a stack holds what a prefix was filled with, as far as it is read."""
    known = filled(length, length)
    return all(
        torch.equal(held[place], expected)
        for layer in range(LAYERS)
        for held, expected in zip(
            stack.read(layer, 0, place + 1, reach), known.read(layer, 0, reach), strict=True
        )
    )


def test_prefixes_lie_side_by_side_as_far_as_they_are_read() -> None:
    stack = stacked((5, 7, 9), (5, 7, 6))
    assert [is_held(stack, i, n, r) for i, (n, r) in enumerate(((5, 5), (7, 7), (9, 6)))] == [
        True
    ] * 3
    keys, values = stack.read(1, 0, 3, 7)
    # Padding is zero.
    assert not keys[0, :, 5:].any()
    assert not values[2, :, 6:].any()


def test_a_prefix_alone_is_not_copied() -> None:
    prefix = filled(5, 0)
    keys, _ = PrefixStack({0: (prefix, 5)}).read(0, 0, 1, 5)
    assert keys.data_ptr() == prefix.read(0, 0, 5)[0].data_ptr()


@pytest.mark.parametrize("is_read_before", [True, False])
def test_those_that_are_kept_close_ranks(is_read_before: bool) -> None:
    lengths = (5, 7, 6, 8)
    stack = stacked(lengths)
    if is_read_before:
        assert is_held(stack, 3, 8, 8)
    for kept in ({11, 13}, {13}, set()):
        stack.keep(kept)
        assert set(stack.groups) == kept
        for place, group in enumerate(stack.groups):
            assert is_held(stack, place, lengths[group - 10], lengths[group - 10])


def reads_of(
    lengths: Sequence[int], sizes: Sequence[int], forks: Sequence[int], num_new: int = 1
) -> list[tuple[list[int], int, int]]:
    """Return rows, prefixes and tokens of each product; `sizes` are the rows of each group."""
    shared = SharedPrefixes([filled(n, n) for n in lengths], lengths, CPU)
    groups = [group for group, size in enumerate(sizes) for _ in range(size)]
    found = shared.reads(groups, forks, num_new)
    return [(read.rows.tolist(), read.num_prefixes, read.num_tokens) for read in found]


def test_prefixes_of_like_lengths_are_one_product() -> None:
    assert reads_of([40, 42], [1, 2], [40, 30, 42]) == [([0, 1, 2], 2, 42)]
    # Very different lengths are two products, the shorter first; an empty prefix is not read.
    assert reads_of([900, 40, 0], [1, 1, 1], [900, 40, 0]) == [([1], 1, 40), ([0], 1, 900)]
    # A row that sees nothing of its prefix is left out.
    assert reads_of([40, 42], [2, 1], [40, 0, 42]) == [([0, 2], 2, 42)]


def test_a_product_of_which_most_would_be_idle_is_made_in_parts() -> None:
    # Nobody reads the prefixes between.
    assert reads_of([40] * 5, [1, 0, 0, 0, 1], [40, 40]) == [([0], 1, 40), ([1], 1, 40)]
    assert reads_of([40] * 5, [1, 1, 0, 0, 0], [40, 40]) == [([0, 1], 2, 40)]
    # One has most of the rows.
    found = reads_of([40] * 4, [1, 1, 1, 9], [40] * 12)
    assert found == [([0, 1], 2, 40), ([*range(2, 12)], 2, 40)]
    # One reads far, the others a little.
    assert reads_of([90] * 3, [1, 1, 1], [5, 5, 90]) == [([0], 1, 5), ([1, 2], 2, 90)]


def test_a_product_of_many_new_tokens_is_made_in_parts() -> None:
    half = MOST_PAIRS // (2 * 40)
    assert len(reads_of([40] * 4, [1] * 4, [40] * 4, half // 2)) == 1
    assert [rows for rows, *_ in reads_of([40] * 4, [1] * 4, [40] * 4, half)] == [[0, 1], [2, 3]]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    work=st.lists(st.lists(st.integers(1, 90), max_size=9), min_size=1, max_size=20),
    most=st.integers(1, 5000),
)
def test_every_row_is_read_once_and_little_beside(work: list[list[int]], most: int) -> None:
    covered = []
    for first, end in _products(work, 0, len(work), most):
        covered += list(range(first, end))
        part = work[first:end]
        done = len(part) * max(map(len, part)) * max(max(w, default=0) for w in part)
        assert len(part) == 1 or done <= min(most, MOST_IDLE * sum(map(sum, part)))
    assert covered == sorted(set(covered))
    assert {i for i, w in enumerate(work) if w} <= set(covered)


def test_the_grid_takes_rows_to_their_prefixes_and_back() -> None:
    shared = SharedPrefixes([filled(40, 1), filled(40, 2)], [40, 40], CPU)
    (read,) = shared.reads([0, 1, 1, 1], [40, 40, 0, 40])
    query = torch.randn(4, KV_HEADS, 3, SIZE)
    folded = read.fold(query)
    assert folded.shape == (2, KV_HEADS, 2 * 3, SIZE)
    assert torch.equal(folded[0, :, :3], query[0])
    assert torch.equal(folded[1, :, 3:], query[3])
    assert torch.equal(read.unfold(folded), query[[0, 1, 3]])
