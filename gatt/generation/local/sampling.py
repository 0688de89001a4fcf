"""Drawing the next token from logits with random streams that are fixed by key.

Shapes: R rows, V vocabulary.
"""

from __future__ import annotations

import numpy as np
import torch

from gatt.generation.base import SamplingParams, stream_seed

_TOP = 128
"""Candidates looked at first; only rows whose nucleus is wider are sorted whole."""


def uniform_stream(seed: int, key: str, num_draws: int) -> torch.Tensor:
    """Return `num_draws` uniform numbers in [0, 1) that depend on seed and key alone.

    The number at index i belongs to position i of the reply, whatever the batch
    it is computed in.
    """
    generator = np.random.Generator(np.random.Philox(key=stream_seed(seed, key)))
    return torch.from_numpy(generator.random(num_draws))


def next_tokens(
    logits_RV: torch.Tensor, params: SamplingParams, uniform_R: torch.Tensor
) -> torch.Tensor:
    """Return one token id per row.

    Greedy at temperature 0; else from the smallest set of most likely tokens
    whose mass reaches `top_p`, by inverse transform of the row's uniform
    number over the tokens in falling order of probability.
    """
    if params.temperature == 0:
        return logits_RV.argmax(dim=-1)
    scaled = logits_RV.float() / params.temperature
    total = scaled.logsumexp(dim=-1, keepdim=True)
    width = min(_TOP, scaled.shape[-1])
    best, order = scaled.topk(width, dim=-1)
    chosen = _invert(best, order, total, params.top_p, uniform_R)
    wide = (best - total).exp().sum(dim=-1) < params.top_p
    if width < scaled.shape[-1] and bool(wide.any()):
        values, indices = scaled[wide].sort(dim=-1, descending=True)
        chosen[wide] = _invert(values, indices, total[wide], params.top_p, uniform_R[wide])
    return chosen


def _invert(
    sorted_logits: torch.Tensor,
    order: torch.Tensor,
    total: torch.Tensor,
    top_p: float,
    uniform_R: torch.Tensor,
) -> torch.Tensor:
    probabilities = (sorted_logits - total).exp().double()
    before = probabilities.cumsum(dim=-1) - probabilities
    probabilities = probabilities.masked_fill(before >= top_p, 0.0)
    cumulative = probabilities.cumsum(dim=-1)
    threshold = uniform_R.to(cumulative)[:, None] * cumulative[:, -1:]
    rank = (cumulative <= threshold).sum(dim=-1, keepdim=True)
    last = (probabilities > 0).sum(dim=-1, keepdim=True) - 1
    return order.gather(-1, torch.minimum(rank, last))[:, 0]
