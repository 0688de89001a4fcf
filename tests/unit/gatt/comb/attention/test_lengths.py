"""The lengths that packed rows are padded to: few, none too short, with little filling."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatt.comb.attention.backend import plan_block_mask
from gatt.comb.attention.lengths import (
    BLOCK,
    MOST,
    MOST_PACKED,
    kernel_lengths,
    micro_batch_sizes,
    padded_length,
)
from gatt.comb.comb import IGNORE, Comb, best_fit
from tests.unit.gatt.comb.attention.test_split import geometry_of


def filling(sizes, lengths) -> int:
    return sum(padded_length(size, lengths) - size for size in sizes)


@given(st.lists(st.integers(1, 900), min_size=1, max_size=12), st.integers(1, 3))
def test_no_other_lengths_have_less_filling(sizes, most) -> None:
    lengths = kernel_lengths(sizes, most)
    assert len(lengths) <= most
    assert all(length % BLOCK == 0 for length in lengths)
    assert lengths[-1] - max(sizes) < BLOCK
    possible = {-(-size // BLOCK) * BLOCK for size in sizes}
    others = [
        sorted(some)
        for num in range(1, most + 1)
        for some in combinations(possible, min(num, len(possible)))
        if max(some) >= max(sizes)
    ]
    assert filling(sizes, lengths) == min(filling(sizes, other) for other in others)


@pytest.mark.parametrize(("batch_size", "is_packed"), [(1, False), (3, False), (1, True)])
def test_sixty_rows_meet_few_shapes(batch_size, is_packed) -> None:
    rng = random.Random(0)
    rows = [rng.randint(150, 2000) for _ in range(60)]
    if is_packed:
        rows = [sum(rows[n] for n in group) for group in best_fit(rows, 8192)]
    most = MOST_PACKED if is_packed else MOST
    lengths = kernel_lengths(micro_batch_sizes(rows, batch_size), most)
    rng.shuffle(rows)
    batches = [sum(rows[at : at + batch_size]) for at in range(0, len(rows), batch_size)]
    met = {padded_length(size, lengths) for size in batches}
    assert met <= set(lengths)
    assert len(met) <= most
    # Powers of two and one and a half, which rows were padded to before, have no fewer shapes.
    assert len(met) <= len({padded_length(size) for size in batches})
    assert filling(batches, lengths) < 0.2 * sum(batches)


def test_a_mask_is_as_long_as_the_next_length() -> None:
    geometry = geometry_of([Comb(tuple(range(300)), (IGNORE,) * 300)])
    assert plan_block_mask(geometry).shape[-1] == 384
    assert plan_block_mask(geometry, lengths=(256, 640)).shape[-1] == 640
    assert plan_block_mask(geometry, lengths=(256,)).shape[-1] == 384
