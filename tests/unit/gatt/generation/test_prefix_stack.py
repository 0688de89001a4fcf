"""Prefixes in one buffer: each stays what it was, wherever it lies, and rows find theirs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from gatt.generation.prefix_cache import GROWTH, Prefix
from gatt.generation.prefix_stack import MOST_IDLE, PrefixStack, SharedPrefixes

KV_HEADS, SIZE, LAYERS = 2, 4, 3
CPU = torch.device("cpu")


def filled(length: int, seed: int) -> Prefix:
    prefix = Prefix()
    grow(prefix, length, seed)
    return prefix


def grow(prefix: Prefix, length: int, seed: int) -> None:
    torch.manual_seed(seed)
    for layer in range(LAYERS):
        keys, values = torch.randn(2, KV_HEADS, length, SIZE)
        prefix.write(layer, len(prefix), keys, values)
    prefix.ids += tuple(range(length))


def content(prefix: Prefix) -> torch.Tensor:
    """Return what a prefix holds `[layers, 2, K, tokens, D]`, copied."""
    read = [torch.stack(prefix.read(layer, 0, len(prefix))) for layer in range(LAYERS)]
    return torch.stack(read).clone()


def read_all(stack: PrefixStack, num: int, num_tokens: int) -> torch.Tensor:
    """Return what a stack holds at its front `[layers, 2, num, K, tokens, D]`."""
    return torch.stack(
        [torch.stack(stack.read(layer, 0, num, num_tokens)) for layer in range(LAYERS)]
    )


def is_held(stack: PrefixStack, place: int, known: torch.Tensor) -> bool:
    length = known.shape[3]
    return torch.equal(read_all(stack, place + 1, length)[:, :, place], known)


def test_prefixes_move_into_the_stack_and_stay_what_they_were() -> None:
    prefixes = [filled(length, length) for length in (5, 7, 6)]
    before = [content(p) for p in prefixes]
    stack = PrefixStack(prefixes, [0, 1, 2])
    assert all(is_held(stack, i, known) for i, known in enumerate(before))
    # Padding is zero, and the prefixes are views.
    assert not read_all(stack, 3, 7)[:, :, 0, :, 5:].any()
    assert all(torch.equal(content(p), known) for p, known in zip(prefixes, before, strict=True))
    keys, _ = stack.read(1, 0, 3, 7)
    keys[2] += 1
    assert torch.equal(prefixes[2].read(1, 0, 6)[0], before[2][1, 0] + 1)
    assert stack.num_tokens == 21


def test_a_prefix_alone_is_not_copied() -> None:
    prefix = filled(5, 0)
    keys, _ = PrefixStack([prefix], [0]).read(0, 0, 1, 5)
    assert prefix.is_at(0, keys)


@pytest.mark.parametrize("is_read_before", [True, False])
def test_those_that_are_wanted_come_forward(is_read_before: bool) -> None:
    prefixes = [filled(length, length) for length in (5, 7, 6, 8)]
    before = [content(p) for p in prefixes]
    stack = PrefixStack(prefixes, [10, 11, 12, 13])
    if is_read_before:
        read_all(stack, 4, 8)
    stack.bring_forward({11, 13})
    assert sorted(stack.groups[:2]) == [11, 13]
    for place, group in enumerate(stack.groups):
        assert is_held(stack, place, before[group - 10])
    stack.bring_forward({13})
    assert stack.groups[0] == 13
    assert is_held(stack, 0, before[3])
    assert all(torch.equal(content(p), known) for p, known in zip(prefixes, before, strict=True))


@pytest.mark.parametrize("num_more", [3, GROWTH + 1])
def test_one_that_grew_keeps_what_it_grew_by(num_more: int) -> None:
    """Within the room of the stack, or out of it."""
    prefixes = [filled(5, 0), filled(6, 1)]
    known = [content(p) for p in prefixes]
    stack = PrefixStack(prefixes, [0, 1])
    read_all(stack, 2, 6)
    grow(prefixes[0], num_more, 2)
    grown = content(prefixes[0])
    stack.bring_forward({1})
    assert torch.equal(content(prefixes[0]), grown)
    assert torch.equal(content(prefixes[1]), known[1])
    assert is_held(stack, 0, known[1])
    # What was held of it is still there for rows that read it.
    stack.bring_forward({0})
    assert is_held(stack, 0, known[0])


def reads_of(
    lengths: Sequence[int], sizes: Sequence[int], forks: Sequence[int]
) -> list[tuple[list[int], int, int]]:
    """Return rows, prefixes and tokens of each product."""
    shared = SharedPrefixes([filled(n, n) for n in lengths], CPU)
    found = shared.reads(sizes, forks)
    return [(r.readers.rows.tolist(), r.readers.num_prefixes, r.readers.num_tokens) for r in found]


def test_prefixes_of_like_lengths_are_one_product() -> None:
    assert reads_of([40, 42], [1, 2], [40, 30, 42]) == [([0, 1, 2], 2, 42)]
    # Far apart they are two, the shorter first; nobody reads an empty one.
    assert reads_of([900, 40, 0], [1, 1, 1], [900, 40, 0]) == [([1], 1, 40), ([0], 1, 900)]
    # A row that sees nothing of its prefix is left out.
    assert reads_of([40, 42], [2, 1], [40, 0, 42]) == [([0, 2], 2, 42)]


def test_few_readers_of_a_large_stack_are_a_product_each() -> None:
    num = 2 * MOST_IDLE + 1
    lengths, sizes = [40] * num, [0] * num
    sizes[0] = sizes[-1] = 1
    assert reads_of(lengths, sizes, [40, 40]) == [([0], 1, 40), ([1], 1, 40)]
    sizes[-1], sizes[1] = 0, 1
    assert reads_of(lengths, sizes, [40, 40]) == [([0, 1], 2, 40)]


def test_the_grid_takes_rows_to_their_prefixes_and_back() -> None:
    shared = SharedPrefixes([filled(40, 1), filled(40, 2)], CPU)
    (read,) = shared.reads([1, 3], [40, 40, 0, 40])
    query = torch.randn(4, KV_HEADS, 3, SIZE)
    folded = read.readers.fold(query)
    assert folded.shape == (2, KV_HEADS, 2 * 3, SIZE)
    assert torch.equal(folded[0, :, :3], query[0])
    assert torch.equal(folded[1, :, 3:], query[3])
    assert torch.equal(read.readers.unfold(folded), query[[0, 1, 3]])
