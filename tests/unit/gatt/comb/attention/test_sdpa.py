"""torch's attention function, as both sides call it."""

from __future__ import annotations

import pytest
import torch

from gatt.comb.attention.sdpa import attend


@pytest.mark.parametrize("heads", [(4, 4), (6, 2)])
@pytest.mark.parametrize("is_causal", [True, False])
def test_it_is_plain_attention_with_grouped_heads(heads, is_causal) -> None:
    torch.manual_seed(0)
    query = torch.randn(2, heads[0], 5, 8, dtype=torch.float64)
    key, value = torch.randn(2, 2, heads[1], 5, 8, dtype=torch.float64)
    seen = torch.ones(5, 5, dtype=torch.bool).tril() if is_causal else torch.rand(5, 5) < 0.7
    seen |= torch.eye(5, dtype=torch.bool)
    whole_key, whole_value = (t.repeat_interleave(heads[0] // heads[1], 1) for t in (key, value))
    scores = (query @ whole_key.transpose(-1, -2) * 0.3).masked_fill(~seen, -torch.inf)
    found = attend(query, key, value, None if is_causal else seen, scale=0.3)
    torch.testing.assert_close(found, scores.softmax(-1) @ whole_value)
