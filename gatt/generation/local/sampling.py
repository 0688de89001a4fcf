"""Samples the next token from logits, with a random stream for each key.

Shapes: R rows, V vocabulary.
"""

from __future__ import annotations

import numpy as np
import torch

from gatt.generation.base import SamplingParams, stream_seed

_TOP = 128
"""Candidates of a first look; only rows with a larger nucleus are sorted completely."""


def uniform_stream(seed: int, key: str, num_draws: int) -> torch.Tensor:
    """Return `num_draws` uniform numbers in [0, 1) that depend only on seed and key.

    The number at index i is for position i of the reply, in any batch.
    """
    generator = np.random.Generator(np.random.Philox(key=stream_seed(seed, key)))
    return torch.from_numpy(generator.random(num_draws))


def next_tokens(
    logits_RV: torch.Tensor, params: SamplingParams, uniform_R: torch.Tensor
) -> torch.Tensor:
    """Return one token id per row.

    Greedy at temperature 0. Otherwise the token comes from the smallest set of most likely tokens whose mass
    reaches `top_p`, by inverse transform of the row's uniform number over the tokens in descending
    order of probability.
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
