"""Greedy replies equal plain `generate`, for each architecture under an adapter, and for one without.

100 prompts each: at least 99 % of the tokens, and where two part the logits are a tie to 1e-4.
"""

from __future__ import annotations

import logging
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM, BloomConfig, MambaConfig

from gatt.generation.base import SamplingParams
from gatt.generation.local.engine import TransformersEngine
from gatt.generation.local.model_support import sharing_error, sharing_problem
from gatt.models.chat_template import encode
from gatt.models.load import LoadedModel
from tests.support.models.greedy import agreement, random_requests
from tests.support.models.tiny import tiny_tokenizer

NUM_PROMPTS = 100
SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 2048,
    "bos_token_id": None,
    "initializer_range": 0.3,
    # Tied, the likeliest token is often the last one again.
    "tie_word_embeddings": False,
}
# Far shorter than the prompts, and odd: a wrong edge shows.
MIXED = {"sliding_window": 37, "layer_types": ["sliding_attention", "full_attention"]}
SHARING: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen3": {},
    "gemma2": {"attn_logit_softcapping": 5.0, **MIXED},
    "gemma3_text": MIXED,
    "mistral": {"sliding_window": None},
    "mistral_sliding": {"model_type": "mistral", "sliding_window": 37},
    "phi": {},
}
# The prompts lie on both sides of the short context.
LONG_ROPE = {
    "rope_type": "longrope", "rope_theta": 1e4, "original_max_position_embeddings": 128,
    "short_factor": [1.0] * 4, "long_factor": [1.0, 2.0, 4.0, 8.0],
}  # fmt: skip
EXPERTS = {"num_local_experts": 2, "num_experts_per_tok": 2}
NOT_SHARING: dict[str, tuple[str, dict[str, Any]]] = {
    "mamba": ("recurrent layers", {"state_size": 4, "time_step_rank": 4}),
    "lfm2": ("layers of type conv", {"layer_types": ["conv", "full_attention"], "conv_L_cache": 3}),
    "phi3": ("beyond 128 tokens", {"rope_parameters": LONG_ROPE, "original_max_position_embeddings": 128}),
    "phimoe": ("do not declare their sliding window", {"sliding_window": 37, **EXPERTS}),
    "phimoe_long": (
        "beyond 128 tokens",
        {
            "model_type": "phimoe",
            "rope_parameters": {**LONG_ROPE, "short_mscale": 1.1, "long_mscale": 1.3},
            **EXPERTS,
        },
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return tiny_tokenizer()


def tiny_model(name: str, tokenizer: Any) -> Any:
    others = {other: settings for other, (_, settings) in NOT_SHARING.items()}
    settings = {"model_type": name, **SIZES, **{**SHARING, **others}[name]}
    settings |= {
        "vocab_size": len(tokenizer),
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    config = AutoConfig.for_model(settings.pop("model_type"), **settings)
    torch.manual_seed(1)
    return AutoModelForCausalLM.from_config(config).eval()


def make_engine(model: Any, tokenizer: Any, **limits: Any) -> TransformersEngine:
    engine = TransformersEngine(LoadedModel(model, tokenizer, "tiny"), **limits)
    # A tenth of all tokens ends a reply, so that rows stop at different steps.
    engine.stop_ids = engine.stop_ids | frozenset(range(0, len(tokenizer), 10))
    return engine


def with_adapter(model: Any) -> Any:
    torch.manual_seed(2)
    lora = LoraConfig(r=4, lora_alpha=16, target_modules="all-linear", init_lora_weights=False)
    return get_peft_model(model, lora, adapter_name="one")


@pytest.mark.parametrize(("name", "has_adapter"), [("llama", False), *((n, True) for n in SHARING)])
def test_greedy_replies_equal_plain_generate(name, has_adapter, tokenizer) -> None:
    model = tiny_model(name, tokenizer)
    if has_adapter:
        model = with_adapter(model)
    engine = make_engine(model, tokenizer, max_rows=24)
    assert engine.shares_prefixes
    requests = random_requests(NUM_PROMPTS)
    found = agreement(engine, model, requests, 12, "one" if has_adapter else None)
    assert found.num_lengths > 4
    assert found.num_replies > 20
    assert found.share >= 0.99
    assert found.largest_gap <= 1e-4
    assert engine.counters.num_encoded_tokens < engine.counters.num_prompt_tokens / 2


@pytest.mark.parametrize("name", SHARING)
def test_dense_replies_equal_plain_generate(name, tokenizer) -> None:
    model = with_adapter(tiny_model(name, tokenizer))
    # A batch is encoded in several parts, and the last batch has fewer rows.
    engine = make_engine(model, tokenizer, max_rows=24, is_dense=True)
    requests = random_requests(60)
    found = agreement(engine, model, requests, 12, "one")
    assert found.num_lengths > 4
    assert found.num_replies > 10
    assert found.share >= 0.99
    assert found.largest_gap <= 1e-4


@pytest.mark.parametrize("top_p", [0.3, 0.6, 0.8], ids=["few", "some again", "all again"])
def test_dense_and_shared_engines_draw_the_same_replies(tokenizer, top_p: float) -> None:
    """The dense engine draws from 128 tokens first, and again where a nucleus has more."""
    model = tiny_model("llama", tokenizer)
    params = SamplingParams(max_new_tokens=20, temperature=0.9, top_p=top_p, seed=3)
    requests = random_requests(30)
    shared, dense = (
        make_engine(model, tokenizer, is_dense=is_dense).generate(requests, params)
        for is_dense in (False, True)
    )
    assert len({generation.num_tokens for generation in shared}) > 4
    assert dense == shared


@pytest.mark.parametrize("name", NOT_SHARING)
def test_models_that_cannot_share_are_asked_prompt_by_prompt(name, tokenizer, caplog) -> None:
    model = tiny_model(name, tokenizer)
    with caplog.at_level(logging.WARNING):
        engine = TransformersEngine(LoadedModel(model, tokenizer, "tiny"))
    assert not engine.shares_prefixes
    assert "every prompt is encoded on its own" in caplog.text
    assert NOT_SHARING[name][0] in caplog.text
    requests = random_requests(40)
    lengths = [len(encode(tokenizer, r.messages, True)) for r in requests]
    assert min(lengths) + 12 < 128 < max(lengths)
    found = agreement(engine, model, requests, 12)
    assert found.num_replies > 4
    assert found.share >= 0.99
    assert found.largest_gap <= 1e-4
    assert engine.counters.num_encoded_tokens == engine.counters.num_prompt_tokens


@pytest.mark.parametrize(
    ("name", "changes"),
    [("phi3", {"max_position_embeddings": 128}), ("phimoe", {"sliding_window": None})],
)
def test_their_kin_within_the_short_context_share(name, changes, tokenizer, monkeypatch) -> None:
    reason, settings = NOT_SHARING[name]
    monkeypatch.setitem(NOT_SHARING, name, (reason, settings | changes))
    model = tiny_model(name, tokenizer)
    assert sharing_problem(model) is None
    assert sharing_error(model) < 1e-4


@pytest.mark.parametrize("config", [BloomConfig, MambaConfig], ids=lambda c: c.__name__)
def test_a_configuration_without_a_furthest_position_is_judged(config, tokenizer) -> None:
    sizes = {"hidden_size": 32, "n_layer": 1, "num_hidden_layers": 1, "n_head": 4}
    model = AutoModelForCausalLM.from_config(config(vocab_size=len(tokenizer), **sizes))
    assert not hasattr(model.config, "max_position_embeddings")
    assert sharing_problem(model)


def test_the_draws_of_a_recurrent_model_depend_on_the_key_alone(tokenizer) -> None:
    engine = make_engine(tiny_model("mamba", tokenizer), tokenizer)
    requests = random_requests(12)
    params = SamplingParams(max_new_tokens=8, temperature=0.9, top_p=0.9, seed=3)
    together = engine.generate(requests, params)
    assert [engine.generate([r], params)[0] for r in requests] == together
    engine.max_cache_tokens = 1
    assert engine.generate(requests, params) == together


def test_a_model_that_mixes_positions_is_found_out(tokenizer, monkeypatch) -> None:
    model = tiny_model("llama", tokenizer)
    assert sharing_problem(model) is None
    assert sharing_error(model) < 1e-5
    embed = model.model.rotary_emb.forward
    monkeypatch.setattr(
        model.model.rotary_emb,
        "forward",
        lambda x, position_ids: embed(x, torch.arange(x.shape[1])[None].expand(len(x), -1)),
    )
    assert "trial forward pass" in (sharing_problem(model) or "")
