"""Split attention at real lengths: many keys a block, and the blocks as they are in use."""

from __future__ import annotations

import pytest
import torch

from gatt.comb.attention.split import MOST_QUERIES_PER_BLOCK, plan_blocks, split_attention
from gatt.comb.comb import IGNORE, Branch, Comb
from tests.unit.gatt.comb.attention.test_visibility import geometry_of

HEADS, KEY_HEADS, SIZE = 3, 1, 32


def branch(fork: int, length: int) -> Branch:
    return Branch(fork, (1,) * length, (1,) * length)


@pytest.mark.parametrize("window", [None, 512])
def test_outputs_and_gradients_over_a_thousand_keys(window) -> None:
    # Two short branches far apart share a block; one is longer than a block.
    branches = (branch(600, 40), branch(1300, 20), branch(1300, MOST_QUERIES_PER_BLOCK + 50))
    comb = Comb((1,) * 1300, (IGNORE,) * 1300, branches)
    geometry = geometry_of([comb, Comb((1,) * 90, (IGNORE,) * 90, (branch(90, 33),))])
    blocks = plan_blocks(geometry, torch.float32, window)
    assert max(b.end - b.own_start + b.trunk_end - b.trunk_start for b in blocks) > 512
    generator = torch.Generator().manual_seed(0)
    shapes = [(1, h, geometry.num_tokens, SIZE) for h in (HEADS, KEY_HEADS, KEY_HEADS)]
    ours = [torch.randn(s, generator=generator).requires_grad_() for s in shapes]
    exact = [t.detach().double().requires_grad_() for t in ours]
    found = split_attention(*ours, blocks, scale=0.2)
    query, key, value = exact
    scores = query @ key.repeat_interleave(HEADS, dim=1).transpose(-1, -2) * 0.2
    weights = scores.masked_fill(~geometry.mask(window), -torch.inf).softmax(-1)
    expected = (weights @ value.repeat_interleave(HEADS, dim=1)).transpose(1, 2)
    weight = torch.randn(expected.shape, generator=generator)
    (found * weight).sum().backward()
    (expected * weight).sum().backward()
    assert (found - expected).norm() <= 1e-5 * expected.norm()
    for one, other in zip(ours, exact, strict=True):
        assert (one.grad - other.grad).norm() <= 1e-5 * other.grad.norm()
