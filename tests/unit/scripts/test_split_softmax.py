"""Split-softmax in shared prefixes, against plain attention over every prompt."""

from __future__ import annotations

import pytest
import torch
from split_softmax import raised, split_steps
from transformers import AttentionInterface

from gatt.generation.base import SamplingParams
from gatt.generation.local import decoding
from gatt.generation.local.engine import TransformersEngine
from gatt.models.chat_template import encode
from gatt.models.load import LoadedModel
from tests.support.models.greedy import random_requests
from tests.support.models.tiny import tiny_llama, tiny_tokenizer

NUM_TOKENS = 6


def test_the_share_of_the_system_message_is_raised_and_the_weights_sum_to_one() -> None:
    weights = torch.tensor([[0.1, 0.15, 0.75], [0.5, 0.5, 0.0]])
    found = raised(weights, torch.tensor([True, True, False]), 0.5)
    # The share 0.25 becomes 0.5; a share of 1 stays.
    assert torch.allclose(found, torch.tensor([[0.2, 0.3, 0.5], [0.5, 0.5, 0.0]]))


@pytest.mark.parametrize("exponent", [1.0, 0.4])
def test_replies_are_those_of_plain_attention_with_raised_shares(monkeypatch, exponent) -> None:
    tokenizer = tiny_tokenizer()
    model = tiny_llama(tokenizer, seed=1)
    engine = TransformersEngine(LoadedModel(model, tokenizer, "tiny"))
    start = tokenizer.encode("<|im_start|>user", add_special_tokens=False)

    def num_system(ids) -> int:
        ids = list(ids)
        return next(i for i in range(len(ids)) if ids[i : i + len(start)] == start)

    steps = split_steps(num_system, exponent)
    monkeypatch.setattr(decoding, "AppendStep", steps[0])
    monkeypatch.setattr(decoding, "RowStep", steps[1])
    requests = random_requests(24)
    params = SamplingParams(max_new_tokens=NUM_TOKENS, temperature=0.0)
    found = [reply.text for reply in engine.generate(requests, params)]

    def plain(module, query, key, value, attention_mask, *, scaling, **_):
        repeat, length = query.shape[1] // key.shape[1], query.shape[2]
        key, value = (part.repeat_interleave(repeat, dim=1) for part in (key, value))
        places = torch.arange(length)
        scores = (query @ key.transpose(-1, -2) * scaling).masked_fill(
            places > places[:, None], -torch.inf
        )
        told = (places < num) & (places[:, None] >= num)
        weights = scores.softmax(-1)
        share = (weights * told).sum(-1, keepdim=True)
        weights = torch.where(
            told, weights * share ** (exponent - 1), weights * (1 - share**exponent) / (1 - share)
        )
        return (weights @ value).transpose(1, 2), None

    AttentionInterface.register("split_plain", plain)
    model.config._attn_implementation = "split_plain"
    for request, text in zip(requests, found, strict=True):
        ids = list(encode(tokenizer, request.messages, add_generation_prompt=True))
        num, drawn = num_system(ids), []
        while len(drawn) < NUM_TOKENS and not (drawn and drawn[-1] in engine.stop_ids):
            with torch.inference_mode():
                logits = model(torch.tensor([ids + drawn]), use_cache=False).logits[0, -1]
            drawn.append(int(logits.argmax()))
        assert engine.generation_of(drawn, len(ids)).text == text
