"""The few lengths to which packed rows are padded, so that their attention is compiled few times. No torch."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Final

BLOCK: Final = 128
"""Block size of the mask, of which each length is a multiple."""
MOST: Final = 4
"""Lengths of a run whose rows are single dialogues."""
MOST_PACKED: Final = 2
"""Lengths of a run whose rows are filled with dialogues, and so nearly alike."""
_NUM_DRAWS: Final = 20
"""Orders of the rows that are drawn to know how long micro-batches of several rows get."""


def micro_batch_sizes(num_tokens: Sequence[int], batch_size: int, seed: int = 0) -> list[int]:
    """Return the tokens of micro-batches as they may come, with the largest that can."""
    if batch_size == 1:
        return list(num_tokens)
    rng, rows = random.Random(seed), list(num_tokens)
    sizes = [sum(sorted(rows)[-batch_size:])]
    for _ in range(_NUM_DRAWS):
        rng.shuffle(rows)
        sizes += [sum(rows[at : at + batch_size]) for at in range(0, len(rows), batch_size)]
    return sizes


def kernel_lengths(sizes: Sequence[int], most: int) -> tuple[int, ...]:
    """Return at most so many lengths, rising, that take all sizes with the fewest tokens of filling.

    Every length is a multiple of `BLOCK`; the last one takes the largest size.

    Example:
        >>> kernel_lengths([100, 120, 700, 1000, 1010], most=2)
        (128, 1024)
    """
    blocks = Counter(-(-size // BLOCK) for size in sizes)
    distinct = sorted(blocks)
    counts = [blocks[block] for block in distinct]
    # Cheapest way to take the first sizes with so many lengths: its filling, and its lengths.
    best: list[tuple[int, tuple[int, ...]]] = [
        (_filling(distinct, counts, 0, end), (distinct[end],)) for end in range(len(distinct))
    ]
    for _ in range(most - 1):
        best = [
            min(
                [best[end]]
                + [
                    (
                        best[cut][0] + _filling(distinct, counts, cut + 1, end),
                        (*best[cut][1], distinct[end]),
                    )
                    for cut in range(end)
                ]
            )
            for end in range(len(distinct))
        ]
    return tuple(length * BLOCK for length in best[-1][1]) if best else ()


def _filling(distinct: Sequence[int], counts: Sequence[int], start: int, end: int) -> int:
    """Return the blocks of filling if the sizes from one to another all get the length of the last."""
    return sum(counts[at] * (distinct[end] - distinct[at]) for at in range(start, end))


def padded_length(num_tokens: int, lengths: Sequence[int] = ()) -> int:
    """Return the length that queries and keys are padded to: the next of some lengths.

    Beyond them, or without any, it is a power of two, or one and a half. Each length that is met compiles a
    kernel, so there are few. The blocks of the padding are empty and skipped.
    """
    for length in lengths:
        if num_tokens <= length:
            return length
    power = max(BLOCK, 1 << (num_tokens - 1).bit_length())
    between = power // 4 * 3
    return between if between % BLOCK == 0 and num_tokens <= between else power
