"""Attention to own tokens in half precision; tests/numerics has both computations in whole models."""

from __future__ import annotations

import torch

from gatt.generation.local.prefix.row_attention import RowMask, row_attention


def test_scores_of_half_precision_are_not_rounded() -> None:
    """Rounded to bfloat16, scores of this size would put three times as much on the output."""
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 6, 2, 5, 8).bfloat16()
    query = 20 * query[:, :, :1]
    mask = RowMask(torch.ones(6, 1, 5, dtype=torch.bool), 0, 1, query.dtype)
    # So high a cap changes nothing, and takes the plain products, as a GPU does.
    found = row_attention(query, (key, value), [], mask, scale=0.3, softcap=1e6)
    scores = query.double() @ key.double().transpose(-1, -2) * 0.3
    expected = (scores.softmax(-1) @ value.double()).transpose(1, 2)
    assert found.dtype == torch.bfloat16
    assert (found - expected).norm() < 2e-3 * expected.norm()
