"""Who sees whom, against a definition that walks the rows of each token."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gatt.attention import comb_mask, model_mask, why_not_packable
from gatt.comb import Comb, pack
from tests.support.random_combs import combs


def brute_force(documents: list[Comb]) -> torch.Tensor:
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
        mask[query, keys] = True
    return mask


@given(documents=st.lists(combs(), min_size=1, max_size=3))
@settings(deadline=None)
def test_mask_is_that_of_the_plain_sequences(documents) -> None:
    row = pack(documents)
    names = ("document_ids", "branch_ids", "visible", "position_ids")
    found = comb_mask(*(torch.tensor(getattr(row, name)) for name in names))
    assert torch.equal(found, brute_force(documents))


def test_masks_of_the_implementations() -> None:
    mask = torch.tensor([[True, False], [True, True]])
    assert torch.equal(model_mask(mask, "sdpa", torch.float32), mask[None, None])
    lowest = torch.finfo(torch.bfloat16).min
    eager = model_mask(mask, "eager", torch.bfloat16)  # it is added, so False must be low
    assert eager.tolist() == [[[[0.0, lowest], [0.0, 0.0]]]]
    with pytest.raises(ValueError, match="'flash_attention_2' takes no 4-D mask"):
        model_mask(mask, "flash_attention_2", torch.float32)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"_attn_implementation": "sdpa"}, None),
        ({"_attn_implementation": "eager", "layer_types": ["full_attention"]}, None),
        (
            {
                "_attn_implementation": "sdpa",
                "layer_types": ["full_attention", "sliding_attention"],
            },
            "it has layers of type sliding_attention",
        ),
        (
            {"_attn_implementation": "sdpa", "sliding_window": 64},
            "its attention has a sliding window of 64 tokens",
        ),
        (
            {"_attn_implementation": "sdpa", "sliding_window": 64, "use_sliding_window": False},
            None,
        ),
        (
            {"_attn_implementation": "flash_attention_2"},
            "its attention implementation 'flash_attention_2' takes no 4-D mask",
        ),
    ],
)
def test_why_not_packable(config, reason) -> None:
    assert why_not_packable(SimpleNamespace(**config)) == reason
