"""The shared-prefix engine against plain `model.generate`, one unpadded prompt at a time."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model

from gatt.chat_template import encode, render
from gatt.dialogue import Message
from gatt.errors import GenerationError, ModelError
from gatt.generation import rows as rows_module
from gatt.generation.base import Generation, GenerationRequest, SamplingParams
from gatt.generation.prefix_attention import IMPLEMENTATION
from gatt.generation.prefix_cache import RowCache
from gatt.generation.prefix_stack import SharedPrefixes
from gatt.generation.transformers import TransformersEngine
from gatt.models import LoadedModel, load_adapter
from tests.support.tiny import tiny_llama, tiny_tokenizer

GREEDY = SamplingParams(max_new_tokens=14, temperature=0.0)
DRAWN = SamplingParams(max_new_tokens=14, temperature=0.8, top_p=0.9, seed=5)
BOTH_PATHS = pytest.mark.parametrize("shares", [True, False], ids=["shared", "one by one"])

SHORT = "the sea"
LONG = "Tell me more about the long quiet walk by the river. "


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return tiny_tokenizer()


def make_loaded(tokenizer: Any, **changes: Any) -> LoadedModel:
    # Large weights: attention is sharp, so a wrong key, mask or position changes the text.
    return LoadedModel(tiny_llama(tokenizer, initializer_range=0.3, **changes), tokenizer, "tiny")


def make_engine(loaded: LoadedModel, **limits: int) -> TransformersEngine:
    engine = TransformersEngine(loaded, **limits)
    # A tenth of all tokens ends a reply, so that rows stop at different steps.
    engine.stop_ids = engine.stop_ids | frozenset(range(0, len(loaded.tokenizer), 10))
    return engine


def save_adapter(folder: Path, tokenizer: Any, seed: int) -> Path:
    model = tiny_llama(tokenizer, initializer_range=0.3)
    torch.manual_seed(seed)
    config = LoraConfig(
        r=4, lora_alpha=16, target_modules=["q_proj", "v_proj", "up_proj"], init_lora_weights=False
    )
    get_peft_model(model, config).save_pretrained(folder)
    return folder


def conversation(name: str, num_turns: int) -> tuple[Message, ...]:
    messages = [Message("system", f"{name} likes {LONG * (len(name) % 3)}{SHORT}")]
    for turn in range(1, num_turns + 1):
        messages.append(Message("user", f"{turn}: {SHORT * (turn % 3 + 1)} {name}?"))
        if turn < num_turns:
            messages.append(Message("assistant", f"{LONG * (turn % 2)}{name} {turn}"))
    return tuple(messages)


def grid(
    groups: Sequence[str] = ("Ann", "Bobb", "Clara"), turns: Sequence[int] = (1, 3, 2)
) -> list[GenerationRequest]:
    """Return prompts of several groups: every turn, and an aside that forks off early."""
    requests = []
    for name in groups:
        for turn in turns:
            messages = conversation(name, turn)
            requests.append(GenerationRequest(f"{name}/{turn}", messages, group=name))
            aside = (*messages[:-1], Message("user", f"What is your favorite hobby, {name}?"))
            requests.append(GenerationRequest(f"{name}/{turn}/aside", aside, group=name))
    return requests


def reference(
    engine: TransformersEngine, model: Any, request: GenerationRequest, params: SamplingParams
) -> Generation:
    """Return what `model.generate` says to this prompt alone."""
    text = render(engine.tokenizer, request.messages, add_generation_prompt=True)
    ids = engine.tokenizer(text + request.prefill, add_special_tokens=False)["input_ids"]
    prefilled = len(ids) - len(encode(engine.tokenizer, request.messages, True))
    with torch.inference_mode():
        out = model.generate(
            torch.tensor([ids]),
            attention_mask=torch.ones(1, len(ids), dtype=torch.long),
            do_sample=False,
            max_new_tokens=params.max_new_tokens,
            eos_token_id=sorted(engine.stop_ids),
            pad_token_id=engine.tokenizer.pad_token_id,
        )[0].tolist()
    new = out[len(ids) :]
    is_stopped = new[-1] in engine.stop_ids
    said = out[len(ids) - prefilled : len(out) - is_stopped]
    decoded = engine.tokenizer.decode(said, skip_special_tokens=True).strip()
    return Generation(decoded, "stop" if is_stopped else "length", len(new))


@BOTH_PATHS
@pytest.mark.parametrize(
    "limits", [{}, {"max_rows": 4}, {"max_cache_tokens": 700}, {"max_rows": 1}]
)
def test_greedy_replies_are_those_of_plain_generate(monkeypatch, tokenizer, shares, limits):
    monkeypatch.setattr(rows_module, "_is_worth_sharing", lambda *_: shares)
    loaded = make_loaded(tokenizer)
    engine = make_engine(loaded, **limits)
    requests = grid()
    expected = [reference(engine, loaded.model, r, GREEDY) for r in requests]
    # The comparison means something: rows differ, stop at several steps, and some never do.
    assert len({g.text for g in expected}) > len(expected) // 2
    assert len({g.num_tokens for g in expected}) >= 4
    assert {g.finish for g in expected} == {"stop", "length"}
    assert engine.generate(requests, GREEDY) == expected


def test_small_limits_cut_a_group_into_several_batches(tokenizer):
    finished: list[int] = []
    engine = TransformersEngine(make_loaded(tokenizer), max_rows=4, on_progress=finished.append)
    engine.generate(grid(), GREEDY)
    assert sum(finished) == len(grid())
    assert max(finished) <= 4
    assert len(finished) >= 5


@BOTH_PATHS
def test_adapters_and_base_are_switched_by_name(monkeypatch, tmp_path, tokenizer, shares):
    monkeypatch.setattr(rows_module, "_is_worth_sharing", lambda *_: shares)
    loaded = make_loaded(tokenizer)
    plain = make_engine(loaded)
    requests = grid(("Ann", "Clara"), (1, 3))
    of_base = [reference(plain, loaded.model, r, GREEDY) for r in requests]
    for seed, name in enumerate(("one", "two"), start=1):
        loaded = load_adapter(loaded, save_adapter(tmp_path / name, tokenizer, seed), name)
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


@BOTH_PATHS
@pytest.mark.parametrize("has_asides", [True, False])
def test_a_roll_out_that_grows_equals_prompts_answered_afresh(
    monkeypatch, tokenizer, shares, has_asides
):
    monkeypatch.setattr(rows_module, "_is_worth_sharing", lambda *_: shares)
    loaded = make_loaded(tokenizer)
    engine = make_engine(loaded)
    for turn in (1, 2, 3, 4, 2):
        requests = grid(turns=(turn,))
        requests = requests if has_asides else requests[::2]
        expected = [reference(engine, loaded.model, r, GREEDY) for r in requests]
        assert engine.generate(requests, GREEDY) == expected


def test_a_kept_prefix_is_not_encoded_again(tokenizer):
    engine = TransformersEngine(make_loaded(tokenizer))
    for turn in (3, 4):
        request = GenerationRequest("k", conversation("Clara", turn), group="g")
        before = replace(engine.counters)
        engine.generate([request], GREEDY)
        encoded = engine.counters.num_encoded_tokens - before.num_encoded_tokens
        prompt = len(encode(tokenizer, request.messages, True))
        assert engine.counters.num_prompt_tokens - before.num_prompt_tokens == prompt
        if turn == 3:
            assert encoded == prompt
    first = encode(tokenizer, conversation("Clara", 3), True)
    assert prompt - len(first) <= encoded <= prompt - len(first) + 1


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
        kept, prompt = engine.kept.ids((None, "g")), encode(tokenizer, said, True)
        assert kept[: len(prompt)] == prompt
        assert len(kept) == len(prompt) + GREEDY.max_new_tokens - 1
        text = tokenizer.decode(kept[len(prompt) :], skip_special_tokens=True).strip()
        assert text
        assert replies[1].text.startswith(text)
        said += [Message("assistant", replies[1].text), Message("user", f"And then {turn}?")]
    engine.forget()
    assert not len(engine.kept)


def test_one_call_encodes_what_a_group_shares_once(tokenizer):
    engine = TransformersEngine(make_loaded(tokenizer))
    requests = [
        GenerationRequest(f"{turn}", conversation("Clara", turn), group="g")
        for turn in (1, 2, 3, 4)
    ]
    engine.generate(requests, GREEDY)
    lengths = [len(encode(tokenizer, r.messages, True)) for r in requests]
    assert engine.counters.num_prompt_tokens == sum(lengths)
    assert engine.counters.num_encoded_tokens == lengths[-1]
    # Asked again, each prompt's last token gives the logits that its reply is drawn from.
    engine.generate(requests, GREEDY)
    assert engine.counters.num_encoded_tokens == lengths[-1] + len(lengths)


def spied_batches(engine: TransformersEngine) -> list[int]:
    """Return a list that gets, for each batch, the tokens whose keys it has room for."""
    held: list[int] = []
    decode = engine._decode

    def spy(logits: Any, rows: Any, cache: RowCache, shared: SharedPrefixes, *rest: Any) -> None:
        own = cache.num_rows * cache.capacity
        prefixes = {
            id(prefix): prefix for s in shared._stacks for prefix, _ in s._prefixes.values()
        }
        decode(logits, rows, cache, shared, *rest)
        copies = [s._held[0][0] for s in shared._stacks if s._held and len(s._prefixes) > 1]
        num_copied = sum(keys.shape[0] * keys.shape[2] for keys in copies)
        held.append(sum(map(len, prefixes.values())) + num_copied + own)

    engine._decode = spy  # type: ignore[method-assign]
    return held


@pytest.mark.parametrize("limits", [{"max_rows": 5}, {"max_cache_tokens": 500}, {"max_rows": 1}])
def test_a_dialogue_answered_in_several_batches_is_encoded_once(tokenizer, limits):
    loaded = make_loaded(tokenizer, max_position_embeddings=1024)
    engine = make_engine(loaded, **limits)
    held = spied_batches(engine)
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


def test_the_memory_of_one_dialogue_is_bounded_by_the_setting(tokenizer):
    loaded = make_loaded(tokenizer, max_position_embeddings=1024)
    requests = [
        GenerationRequest(f"{turn}/{draw}", conversation("Ann", turn), group="g")
        for turn in range(1, 9)
        for draw in range(3)
    ]
    prompt = max(len(encode(tokenizer, r.messages, True)) for r in requests)
    engine = make_engine(loaded, max_cache_tokens=prompt + 100)
    held = spied_batches(engine)
    free = make_engine(loaded)
    held_free = spied_batches(free)
    assert engine.generate(requests, DRAWN) == free.generate(requests, DRAWN)
    assert len(held_free) == 1
    assert held_free[0] > prompt + 200
    assert len(held) > 2
    assert max(held) <= prompt + 100
    # Smaller than any prompt: each is answered, by itself.
    tight = make_engine(loaded, max_cache_tokens=1)
    held_tight = spied_batches(tight)
    assert tight.generate(requests[::3], DRAWN) == free.generate(requests[::3], DRAWN)
    assert len(held_tight) == len(requests[::3])


def test_the_memory_of_many_dialogues_is_bounded_with_the_copies_of_their_prefixes(tokenizer):
    loaded = make_loaded(tokenizer, max_position_embeddings=1024)
    requests = [
        GenerationRequest(f"{name}/{turn}", conversation(name, turn), group=name)
        for name, turns in {"Ann": 3, "Bob": 3, "Eve": 4, "Dan": 8}.items()
        for turn in range(1, turns + 1)
    ]
    free = make_engine(loaded)
    held_free = spied_batches(free)
    expected = free.generate(requests, GREEDY)
    engine = make_engine(loaded, max_cache_tokens=held_free[0] * 2 // 3)
    held = spied_batches(engine)
    assert engine.generate(requests, GREEDY) == expected
    assert len(held_free) == 1 < len(held)
    assert max(held) <= held_free[0] * 2 // 3


def test_probes_in_batches_of_their_own_leave_the_reply_that_is_read_again(tokenizer):
    engine = TransformersEngine(make_loaded(tokenizer), max_rows=2)
    engine.stop_ids = frozenset()
    said = conversation("Clara", 2)
    asides = [(*said[:-1], Message("user", f"{word} likes what?")) for word in ("A", "B", "C")]
    requests = [GenerationRequest("main", said, group="g")]
    requests += [GenerationRequest(m[-1].content, m, group="g", is_aside=True) for m in asides]
    replies = engine.generate(requests, GREEDY)
    assert replies == [reference(engine, engine.model, r, GREEDY) for r in requests]
    prompt = encode(tokenizer, said, True)
    assert len(engine.kept.ids((None, "g"))) == len(prompt) + GREEDY.max_new_tokens - 1


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
    assert [m[:30] for m in caplog.messages] == ["dialogues are encoded again, s"]


def test_several_draws_of_one_prompt_encode_it_once(tokenizer):
    loaded = make_loaded(tokenizer)
    engine = make_engine(loaded)
    messages = conversation("Clara", 3)
    requests = [GenerationRequest(f"Clara/3/{draw}", messages, group="g") for draw in range(4)]
    together = engine.generate(requests, DRAWN)
    assert engine.counters.num_encoded_tokens == len(encode(tokenizer, messages, True))
    assert len({g.text for g in together}) > 1
    assert together == [make_engine(loaded).generate([r], DRAWN)[0] for r in requests]


def test_kept_prefixes_do_not_outgrow_their_bound(tokenizer):
    loaded = make_loaded(tokenizer)
    engine = make_engine(loaded, max_kept_tokens=10)
    requests = grid()
    expected = make_engine(loaded).generate(requests, GREEDY)
    assert engine.generate(requests, GREEDY) == expected
    encoded = engine.counters.num_encoded_tokens
    assert engine.generate(requests, GREEDY) == expected
    assert engine.counters.num_encoded_tokens == 2 * encoded


def test_an_adapter_never_reads_the_prefix_kept_for_another(tmp_path, tokenizer):
    loaded = load_adapter(make_loaded(tokenizer), save_adapter(tmp_path / "a", tokenizer, 1), "a")
    engine = make_engine(loaded)
    requests = grid()
    of_base, tuned = engine.generate(requests, GREEDY), engine.generate(requests, GREEDY, "a")
    fresh = make_engine(loaded)
    assert fresh.generate(requests, GREEDY, "a") == tuned != of_base


@BOTH_PATHS
def test_a_draw_depends_on_seed_and_key_not_on_company(monkeypatch, tokenizer, shares):
    monkeypatch.setattr(rows_module, "_is_worth_sharing", lambda *_: shares)
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
def test_a_prefill_is_given_to_the_model_and_begins_the_text(monkeypatch, tokenizer, shares):
    monkeypatch.setattr(rows_module, "_is_worth_sharing", lambda *_: shares)
    loaded = make_loaded(tokenizer)
    engine = make_engine(loaded)
    plain = grid(("Ann",))
    requests = [replace(r, prefill="Hello there, I like") for r in plain]
    replies = engine.generate(requests, GREEDY)
    assert replies == [reference(engine, loaded.model, r, GREEDY) for r in requests]
    assert all(g.text.startswith("Hello there, I like") for g in replies)


def test_a_prefill_that_merges_with_the_prompt_is_refused(monkeypatch, tokenizer):
    open_ended = "{% for m in messages %}{{ m['content'] + '<|im_end|>' }}{% endfor %}th"
    merging = tiny_tokenizer(
        open_ended.replace("th", "{% if add_generation_prompt %}th{% endif %}")
    )
    engine = TransformersEngine(make_loaded(merging))
    request = GenerationRequest("k/1", (Message("user", "hello"),), prefill="e sea")
    with pytest.raises(GenerationError, match=r"'k/1': the prefill 'e sea' changes the tokens"):
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


def test_no_request_is_no_reply(tokenizer):
    assert TransformersEngine(make_loaded(tokenizer)).generate([], GREEDY) == []


def test_an_unknown_adapter_is_refused_naming_those_that_are_loaded(tmp_path, tokenizer):
    loaded = make_loaded(tokenizer)
    requests = grid(("Ann",))
    with pytest.raises(ModelError, match=r"no adapter 'gatt' is loaded \(loaded: none\)"):
        TransformersEngine(loaded).generate(requests, GREEDY, "gatt")
    loaded = load_adapter(loaded, save_adapter(tmp_path / "one", tokenizer, 1), "one")
    with pytest.raises(ModelError, match=r"no adapter 'gatt' is loaded \(loaded: one\)"):
        TransformersEngine(loaded).generate(requests, GREEDY, "gatt")


def test_the_models_own_attention_is_put_back_even_after_a_failure(monkeypatch, tokenizer):
    loaded = make_loaded(tokenizer)
    engine = TransformersEngine(loaded)
    before = loaded.model.config._attn_implementation

    def fail(*_: object) -> None:
        assert loaded.model.config._attn_implementation == IMPLEMENTATION
        raise RuntimeError("stopped")

    monkeypatch.setattr(engine, "_generate_batch", fail)
    with pytest.raises(RuntimeError, match="stopped"):
        engine.generate(grid(), GREEDY)
    assert loaded.model.config._attn_implementation == before != IMPLEMENTATION
