"""Drawing the next token, against the definition written out in plain Python."""

from __future__ import annotations

import math
import random

import pytest
import torch

from gatt.generation.base import SamplingParams, stream_seed
from gatt.generation.local.decoding import next_tokens, uniform_stream


def by_definition(logits: list[float], params: SamplingParams, uniform: float) -> int:
    """Walk down the nucleus until the uniform share of its mass is passed."""
    if params.temperature == 0:
        return max(range(len(logits)), key=lambda i: logits[i])
    weights = [math.exp(x / params.temperature - max(logits) / params.temperature) for x in logits]
    ranked = sorted(range(len(logits)), key=lambda i: -weights[i])
    nucleus: list[int] = []
    for token in ranked:
        nucleus.append(token)
        if sum(weights[i] for i in nucleus) >= params.top_p * sum(weights):
            break
    left = uniform * sum(weights[i] for i in nucleus)
    for token in nucleus:
        left -= weights[token]
        if left < 0:
            return token
    return nucleus[-1]


# 1.0 and a flat distribution over 500 tokens need more candidates than the first look takes.
@pytest.mark.parametrize("top_p", [0.3, 0.9, 1.0])
@pytest.mark.parametrize(("vocabulary", "spread"), [(5, 1.0), (40, 3.0), (500, 0.2), (500, 4.0)])
def test_a_draw_is_the_inverse_transform_over_the_nucleus(top_p, vocabulary, spread) -> None:
    params = SamplingParams(temperature=0.7, top_p=top_p)
    rng = random.Random(vocabulary)
    logits = [[rng.gauss(0, spread) for _ in range(vocabulary)] for _ in range(60)]
    uniform = [rng.random() for _ in logits]
    drawn = next_tokens(torch.tensor(logits, dtype=torch.float64), params, torch.tensor(uniform))
    expected = [by_definition(row, params, u) for row, u in zip(logits, uniform, strict=True)]
    assert drawn.tolist() == expected
    assert len(set(expected)) > 1


def test_greedy_takes_the_most_likely_and_reads_no_number() -> None:
    logits = torch.tensor([[0.0, 2.0, 1.0], [3.0, 2.0, 1.0]])
    drawn = next_tokens(logits, SamplingParams(temperature=0.0), torch.empty(0))
    assert drawn.tolist() == [1, 0]


def test_a_stream_depends_on_seed_and_key_alone_and_longer_ones_begin_alike() -> None:
    stream = uniform_stream(3, "d/1/0", 8)
    assert uniform_stream(3, "d/1/0", 20)[:8].tolist() == stream.tolist()
    assert uniform_stream(4, "d/1/0", 8).tolist() != stream.tolist()
    assert uniform_stream(3, "d/1/1", 8).tolist() != stream.tolist()
    assert 0 <= float(stream.min()) <= float(stream.max()) < 1
    assert stream_seed(1, "1/a") != stream_seed(11, "/a")
