"""Who sees whom, and split attention against plain attention under the whole mask."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gatt.comb.attention import split
from gatt.comb.attention.split import MOST_QUERIES_PER_BLOCK, plan_blocks, split_attention
from gatt.comb.collator import RowGeometry
from gatt.comb.comb import IGNORE, Branch, Comb
from tests.support.models.combs import combs, vectors_of

HEADS, KEY_HEADS, SIZE = 4, 2, 8


def geometry_of(documents: list[Comb]) -> RowGeometry:
    row = vectors_of(documents)
    return RowGeometry(*(row[name] for name in RowGeometry.__dataclass_fields__))


def tensors(num_tokens: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(num_tokens)
    return [
        torch.randn(1, h, num_tokens, SIZE, generator=generator, dtype=torch.float64)
        for h in (HEADS, KEY_HEADS, KEY_HEADS)
    ]


def plain(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor,
    scale: float,
    softcap: float | None,
) -> torch.Tensor:
    """Attention by its definition, `[1, T, H, D]`."""
    key, value = (t.repeat_interleave(HEADS // KEY_HEADS, dim=1) for t in (key, value))
    scores = query @ key.transpose(-1, -2) * scale
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    return (weights @ value).transpose(1, 2)


@pytest.fixture(autouse=True, scope="module")
def _small_blocks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(split, "QUERIES_PER_BLOCK", 5)
        patch.setattr(split, "MOST_QUERIES_PER_BLOCK", 6)
        yield


@given(
    documents=st.lists(combs(), min_size=1, max_size=3),
    window=st.none() | st.integers(1, 12),
    # One that caps nothing takes the way of other devices.
    softcap=st.none() | st.sampled_from((2.0, 1e6)),
)
@settings(deadline=None, max_examples=150)
def test_outputs_and_gradients_are_those_of_the_whole_mask(documents, window, softcap) -> None:
    assert_as_plain(documents, window, softcap)


def assert_as_plain(documents: list[Comb], window: int | None, softcap: float | None) -> None:
    geometry = geometry_of(documents)
    blocks = plan_blocks(geometry, torch.float64, window, has_masks_only=softcap == 2.0)
    first = [t.requires_grad_() for t in tensors(geometry.num_tokens)]
    second = [t.detach().clone().requires_grad_() for t in first]
    found = split_attention(*first, blocks, scale=0.3, softcap=softcap)
    expected = plain(*second, geometry.mask(window), 0.3, softcap)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
    weight = torch.randn(found.shape, dtype=found.dtype)
    (found * weight).sum().backward()
    (expected * weight).sum().backward()
    for a, b in zip(first, second, strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-8, atol=1e-11)


def test_no_mask_is_as_long_as_a_long_branch_or_a_long_trunk() -> None:
    branch = Branch(50, (1,) * 100, (1,) * 100)
    geometry = geometry_of([Comb((1,) * 50, (IGNORE,) * 50, (branch,))])
    for more in ({}, {"window": 20}, {"has_masks_only": True}):
        blocks = plan_blocks(geometry, torch.float32, **more)
        assert max(b.mask.shape[0] for b in blocks if b.mask is not None) == 6
    # Six queries see at most their window and themselves, whatever the row's length.
    assert max(b.mask.shape[1] for b in plan_blocks(geometry, torch.float32, 20)[:9]) <= 25


def brute_force(documents: list[Comb], window: int | None = None) -> torch.Tensor:
    """Each token sees what stands up to it in the plain sequence that it belongs to."""
    places: list[list[int]] = []  # for every token of the row, the row indices that it sees
    for comb in documents:
        start = len(places)
        trunk = list(range(start, start + len(comb.trunk)))
        places += [trunk[: i + 1] for i in range(len(trunk))]
        for branch in comb.branches:
            own = list(range(len(places), len(places) + len(branch.input_ids)))
            sequence = trunk[: branch.fork] + own
            places += [sequence[: branch.fork + i + 1] for i in range(len(own))]
    mask = torch.zeros(len(places), len(places), dtype=torch.bool)
    for query, keys in enumerate(places):
        mask[query, keys if window is None else keys[-window:]] = True
    return mask


@given(documents=st.lists(combs(), min_size=1, max_size=3), window=st.none() | st.integers(1, 12))
@settings(deadline=None)
def test_mask_is_that_of_the_plain_sequences(documents, window) -> None:
    assert torch.equal(geometry_of(documents).mask(window), brute_force(documents, window))


def branch(fork: int, length: int) -> Branch:
    return Branch(fork, (1,) * length, (1,) * length)


@pytest.mark.parametrize("window", [None, 512])
def test_outputs_and_gradients_over_a_thousand_keys(monkeypatch, window) -> None:
    monkeypatch.setattr(split, "QUERIES_PER_BLOCK", 64)
    monkeypatch.setattr(split, "MOST_QUERIES_PER_BLOCK", MOST_QUERIES_PER_BLOCK)
    # Two short branches far apart share a block; one is longer than a block.
    branches = (branch(600, 40), branch(1300, 20), branch(1300, MOST_QUERIES_PER_BLOCK + 50))
    comb = Comb((1,) * 1300, (IGNORE,) * 1300, branches)
    assert_as_plain([comb, Comb((1,) * 90, (IGNORE,) * 90, (branch(90, 33),))], window, None)
