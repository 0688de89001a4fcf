"""FlexAttention on CPU, which has no backward there: outputs against the whole mask; the lengths of rows."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from gatt.comb.attention import backend as flex
from gatt.comb.attention.backend import flex_block_attention, plan_block_mask
from gatt.comb.attention.lengths import (
    BLOCK,
    MOST,
    MOST_PACKED,
    kernel_lengths,
    micro_batch_sizes,
    padded_length,
)
from gatt.comb.comb import IGNORE, Branch, Comb, best_fit
from tests.support.models.combs import combs
from tests.unit.gatt.comb.attention.test_split import geometry_of, plain, tensors


@given(
    documents=st.lists(combs(), min_size=1, max_size=3),
    window=st.none() | st.integers(1, 12),
    softcap=st.none() | st.just(2.0),
)
@settings(deadline=None, max_examples=20)
def test_outputs_are_those_of_the_whole_mask(documents, window, softcap) -> None:
    geometry = geometry_of(documents)
    query, key, value = (t.float() for t in tensors(geometry.num_tokens))
    mask = plan_block_mask(geometry, window)
    found = flex_block_attention(query, key, value, mask, scale=0.3, softcap=softcap)
    expected = plain(query, key, value, geometry.mask(window), 0.3, softcap)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("most_pairs", [flex.MOST_PAIRS, 1])
@pytest.mark.parametrize("window", [None, 400])
def test_the_blocks_are_those_that_torch_finds(monkeypatch, most_pairs, window) -> None:
    monkeypatch.setattr(flex, "MOST_PAIRS", most_pairs)
    branches = tuple(Branch(at, tuple(range(90)), (IGNORE,) * 90) for at in (200, 300, 500))
    long = Comb(tuple(range(600)), (IGNORE,) * 600, branches)
    geometry = geometry_of([long, Comb(tuple(range(300)), (IGNORE,) * 300)])
    mask = plan_block_mask(geometry, window)
    length = padded_length(geometry.num_tokens)
    whole = torch.zeros(length, length, dtype=torch.bool)
    whole[: geometry.num_tokens, : geometry.num_tokens] = geometry.mask(window)
    expected = create_block_mask(lambda b, h, q, k: whole[q, k], None, None, length, length, "cpu")
    # Both with blocks that are seen whole and such that are seen in part.
    assert expected.full_kv_num_blocks.sum() > 2
    for field in (
        "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks",
        "q_indices", "full_q_num_blocks", "full_q_indices",
    ):  # fmt: skip
        assert getattr(mask, field).tolist() == getattr(expected, field).tolist(), field
    assert mask.BLOCK_SIZE == expected.BLOCK_SIZE
    assert mask.seq_lengths == expected.seq_lengths


@pytest.mark.processes
def test_there_are_as_many_kernels_as_lengths_and_kinds_of_layer(monkeypatch) -> None:
    """Trap 10: 14 lengths stay fused, beyond torch's own limit of 8, and share kernels."""
    graphs = []

    def count(graph, inputs):
        graphs.append([tuple(i.shape) for i in inputs if isinstance(i, torch.Tensor)])
        return graph.forward

    torch._dynamo.reset()
    counted = torch.compile(flex_attention, dynamic=False, fullgraph=True, backend=count)
    monkeypatch.setattr(flex, "_function", lambda device: counted)
    lengths = [100, 120, 129, 250, 300, 390, 400, 600, 700, 900, 1000, 1100, 1600, 2100]
    for length in lengths:
        geometry = geometry_of([Comb(tuple(range(length)), (IGNORE,) * length)])
        query, key, value = (t.float() for t in tensors(length))
        for window in (None, 50):
            mask = plan_block_mask(geometry, window)
            flex_block_attention(query, key, value, mask, scale=0.3)
    torch._dynamo.reset()
    num_lengths = len({padded_length(length) for length in lengths})
    assert num_lengths == 9
    assert len(graphs) == 2 * num_lengths


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
