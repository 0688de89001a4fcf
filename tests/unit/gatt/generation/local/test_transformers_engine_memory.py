"""The shared-prefix engine encodes nothing twice and keeps within its bounds of memory."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from gatt.generation.base import GenerationRequest
from gatt.generation.local import decoding
from gatt.generation.local.engine import TransformersEngine
from gatt.generation.local.model_support import CPU_CACHE_TOKENS, CPU_KEPT_TOKENS, cache_limits
from gatt.models.chat_template import encode
from tests.support.models.engine_prompts import (
    DRAWN,
    GREEDY,
    conversation,
    make_engine,
    make_loaded,
    reference,
)
from tests.support.models.tiny import tiny_llama, tiny_tokenizer


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return tiny_tokenizer()


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets, for each batch, the tokens whose keys it has room for."""
    found: list[int] = []
    decode = decoding._decode

    def spy(engine: Any, logits: Any, rows: Any, cache: Any, shared: Any, *rest: Any) -> None:
        own = len(cache.lengths) * cache.capacity
        prefixes = {id(prefix): prefix for s in shared.stacks for prefix, _ in s._prefixes.values()}
        decode(engine, logits, rows, cache, shared, *rest)
        copies = [s._held[0][0] for s in shared.stacks if s._held and len(s._prefixes) > 1]
        num_copied = sum(keys.shape[0] * keys.shape[2] for keys in copies)
        found.append(sum(map(len, prefixes.values())) + num_copied + own)

    monkeypatch.setattr(decoding, "_decode", spy)
    return found


@pytest.mark.parametrize("limits", [{"max_rows": 5}, {"max_cache_tokens": 500}, {"max_rows": 1}])
def test_a_dialogue_answered_in_several_batches_is_encoded_once(tokenizer, held, limits):
    loaded = make_loaded(tokenizer, max_position_embeddings=1024)
    engine = make_engine(loaded, **limits)
    requests = [
        GenerationRequest(f"{turn}", conversation("Ann", turn), group="g") for turn in range(1, 13)
    ]
    # Neither the order of the requests nor that of the batches matters.
    mixed = requests[::3] + requests[1::3] + requests[2::3]
    replies = engine.generate(mixed, GREEDY)
    assert replies == [reference(engine, loaded.model, r, GREEDY) for r in mixed]
    assert len(held) >= 3
    lengths = [len(encode(tokenizer, r.messages, True)) for r in requests]
    assert engine.counters.num_encoded_tokens == max(lengths) < sum(lengths)
    # Asked again, the last token of each prompt, and nothing else.
    assert engine.generate(mixed, GREEDY) == replies
    assert engine.counters.num_encoded_tokens == max(lengths) + len(lengths)
    assert engine.counters.num_encoded_again == 0


def test_the_memory_of_one_dialogue_is_bounded_by_the_setting(tokenizer, held):
    loaded = make_loaded(tokenizer, max_position_embeddings=1024)
    requests = [
        GenerationRequest(f"{turn}/{draw}", conversation("Ann", turn), group="g")
        for turn in range(1, 9)
        for draw in range(3)
    ]
    prompt = max(len(encode(tokenizer, r.messages, True)) for r in requests)
    expected = make_engine(loaded).generate(requests, DRAWN)
    assert len(held) == 1
    assert held.pop() > prompt + 200
    assert make_engine(loaded, max_cache_tokens=prompt + 100).generate(requests, DRAWN) == expected
    assert len(held) > 2
    assert max(held) <= prompt + 100
    held.clear()
    # Smaller than any prompt: each is answered, by itself.
    assert make_engine(loaded, max_cache_tokens=1).generate(requests, DRAWN) == expected
    assert len(held) == len(requests)


def test_only_a_dialogue_that_comes_back_is_told_to_be_encoded_again(tokenizer, caplog):
    engine = TransformersEngine(make_loaded(tokenizer), max_kept_tokens=200)
    with caplog.at_level(logging.WARNING):
        for number in range(6):
            name = f"n{number}"
            for turn in (1, 2):
                request = GenerationRequest(f"{name}/{turn}", conversation(name, turn), group=name)
                engine.generate([request], GREEDY)
        assert engine.counters.num_encoded_again == 0
        assert not caplog.messages
        request = GenerationRequest("n0/3", conversation("n0", 3), group="n0")
        engine.generate([request], GREEDY)
    assert engine.counters.num_encoded_again >= len(encode(tokenizer, conversation("n0", 2), True))
    assert ["max_kept_tokens" in m for m in caplog.messages] == [True]


def test_limits_grow_with_the_memory_of_a_gpu(monkeypatch) -> None:
    model = tiny_llama(tiny_tokenizer())
    assert cache_limits(model) == (CPU_CACHE_TOKENS, CPU_KEPT_TOKENS)
    layers = model(input_ids=torch.tensor([[5, 6, 7]]), use_cache=True).past_key_values.layers
    bytes_per_token = sum(layer.keys.nbytes + layer.values.nbytes for layer in layers) // 3
    on_gpu = SimpleNamespace(config=model.config, dtype=model.dtype, device=torch.device("cuda"))
    room = 10_000_000
    free = room * bytes_per_token
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda device: (free, 2 * free))
    assert cache_limits(on_gpu) == (room // 4, 35 * room // 100)
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda device: (0, 2 * free))
    assert cache_limits(on_gpu) == (CPU_CACHE_TOKENS, CPU_KEPT_TOKENS)
