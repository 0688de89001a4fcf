"""The shared-prefix engine against plain `model.generate`, one prompt at a time; what it keeps in memory."""

from __future__ import annotations

import logging
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from gatt.data.dialogue import Message
from gatt.errors import GenerationError, ModelError
from gatt.generation.base import Generation, GenerationRequest
from gatt.generation.local import batching as rows_module
from gatt.generation.local import decoding
from gatt.generation.local.engine import TransformersEngine
from gatt.generation.local.model_support import CPU_CACHE_TOKENS, CPU_KEPT_TOKENS, cache_limits
from gatt.models.chat_template import encode
from gatt.models.load import load_adapter
from tests.support.models.engine_prompts import (
    DRAWN,
    GREEDY,
    conversation,
    grid,
    make_engine,
    make_loaded,
    reference,
)
from tests.support.models.tiny import tiny_llama, tiny_tokenizer
from tests.support.models.trained import save_adapter

BOTH_PATHS = pytest.mark.usefixtures("_path")


@pytest.fixture(params=[True, False], ids=["shared", "one by one"])
def _path(request, monkeypatch) -> None:
    monkeypatch.setattr(rows_module, "_is_worth_sharing", lambda *_: request.param)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return tiny_tokenizer()


@BOTH_PATHS
@pytest.mark.parametrize(
    "limits", [{}, {"max_rows": 4}, {"max_cache_tokens": 700}, {"max_rows": 1}]
)
def test_greedy_replies_are_those_of_plain_generate(tokenizer, limits):
    loaded = make_loaded(tokenizer)
    engine = make_engine(loaded, **limits)
    requests = grid()
    expected = [reference(engine, loaded.model, r, GREEDY) for r in requests]
    # The comparison means something: rows differ, stop at several steps, and some never do.
    assert len({g.text for g in expected}) > len(expected) // 2
    assert len({g.num_tokens for g in expected}) >= 4
    assert {g.finish for g in expected} == {"stop", "length"}
    assert engine.generate(requests, GREEDY) == expected


@BOTH_PATHS
def test_adapters_and_base_are_switched_by_name(tmp_path, tokenizer):
    loaded = make_loaded(tokenizer)
    plain = make_engine(loaded)
    requests = grid(("Ann", "Clara"), (1, 3))
    of_base = [reference(plain, loaded.model, r, GREEDY) for r in requests]
    for name, target in {"one": "v_proj", "two": "up_proj"}.items():
        save_adapter(tmp_path / name, "tiny", target, initializer_range=0.3)
        loaded = load_adapter(loaded, tmp_path / name, name)
    engine = make_engine(loaded)
    for name in ("one", "two", None, "one"):
        replies = engine.generate(requests, GREEDY, name)
        if name is None:
            assert replies == of_base
            continue
        alone = make_loaded(tokenizer)
        tuned = load_adapter(alone, tmp_path / name, name).model
        expected = [reference(engine, tuned, r, GREEDY) for r in requests]
        assert replies == expected
        assert expected != of_base


def test_a_roll_out_keeps_the_replies_that_it_reads_again(tokenizer):
    engine = TransformersEngine(make_loaded(tokenizer))
    engine.stop_ids = frozenset()
    said = list(conversation("Clara", 1))
    for turn in (1, 2, 3):
        aside = (*said[:-1], Message("user", "What is your favorite hobby?"))
        requests = [
            GenerationRequest(f"aside/{turn}", aside, group="g", is_aside=True),
            GenerationRequest(f"{turn}", tuple(said), group="g"),
        ]
        expected = [reference(engine, engine.model, r, GREEDY) for r in requests]
        replies = engine.generate(requests, GREEDY)
        assert replies == expected
        # The prompt on record, then the reply but for its last token; nothing of the aside.
        kept, prompt = engine.kept._kept[None, "g"].ids, encode(tokenizer, said, True)
        assert kept[: len(prompt)] == prompt
        assert len(kept) == len(prompt) + GREEDY.max_new_tokens - 1
        text = tokenizer.decode(kept[len(prompt) :], skip_special_tokens=True).strip()
        assert text
        assert replies[1].text.startswith(text)
        said += [Message("assistant", replies[1].text), Message("user", f"And then {turn}?")]
    engine.forget()
    assert not engine.kept._kept


@BOTH_PATHS
def test_a_draw_depends_on_seed_and_key_not_on_company(tokenizer):
    loaded = make_loaded(tokenizer)
    requests = grid()
    together = make_engine(loaded).generate(requests, DRAWN)
    alone = [make_engine(loaded).generate([r], DRAWN)[0] for r in requests]
    backwards = make_engine(loaded, max_rows=3).generate(requests[::-1], DRAWN)[::-1]
    assert together == alone == backwards
    assert together != make_engine(loaded).generate(requests, replace(DRAWN, seed=6))
    assert together != make_engine(loaded).generate(requests, GREEDY)
    renamed = [replace(r, key=r.key + "/2") for r in requests]
    assert together != make_engine(loaded).generate(renamed, DRAWN)


@BOTH_PATHS
def test_a_prefill_is_given_to_the_model_and_begins_the_text(tokenizer):
    loaded = make_loaded(tokenizer)
    engine = make_engine(loaded)
    plain = grid(("Ann",))
    requests = [replace(r, prefill="Hello there, I like") for r in plain]
    replies = engine.generate(requests, GREEDY)
    assert replies == [reference(engine, loaded.model, r, GREEDY) for r in requests]
    assert all(g.text.startswith("Hello there, I like") for g in replies)


def test_a_prefill_that_merges_with_the_prompt_is_refused(tokenizer):
    open_ended = "{% for m in messages %}{{ m['content'] + '<|im_end|>' }}{% endfor %}th"
    merging = tiny_tokenizer(
        open_ended.replace("th", "{% if add_generation_prompt %}th{% endif %}")
    )
    engine = TransformersEngine(make_loaded(merging))
    request = GenerationRequest("k/1", (Message("user", "hello"),), prefill="e sea")
    with pytest.raises(GenerationError, match=r"'k/1': .*'e sea'"):
        engine.generate([request], GREEDY)


def test_a_full_context_is_reported_and_costs_nothing(tokenizer):
    messages = conversation("Ann", 2)
    length = len(encode(tokenizer, messages, True))
    loaded = make_loaded(tokenizer, max_position_embeddings=length + 3)
    engine = TransformersEngine(loaded)
    engine.stop_ids = frozenset()
    longer = GenerationRequest("b", conversation("Ann", 4), group="g")
    cut, refused = engine.generate([GenerationRequest("a", messages, group="g"), longer], GREEDY)
    assert (cut.finish, cut.num_tokens) == ("context_limit", 3)
    assert refused == Generation("", "context_limit", 0)
    assert engine.counters.num_prompt_tokens == length


def test_an_unknown_adapter_is_refused_naming_those_that_are_loaded(tmp_path, tokenizer):
    loaded = make_loaded(tokenizer)
    requests = grid(("Ann",))
    with pytest.raises(ModelError, match=r"'gatt'.*none"):
        TransformersEngine(loaded).generate(requests, GREEDY, "gatt")
    loaded = load_adapter(loaded, save_adapter(tmp_path / "one", "tiny"), "one")
    with pytest.raises(ModelError, match=r"'gatt'.*one"):
        TransformersEngine(loaded).generate(requests, GREEDY, "gatt")


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
