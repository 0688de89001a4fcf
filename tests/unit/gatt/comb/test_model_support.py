"""Which models take packed rows: told by the configuration, and found by a try."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    DogeConfig,
    Gemma2Config,
    GptOssConfig,
    LlamaConfig,
    MambaConfig,
    Phi3Config,
    PhimoeConfig,
    PreTrainedConfig,
)

from gatt.comb.model_support import packing_problem, why_not_packable
from tests.support.models.tiny import tiny_llama, tiny_tokenizer


class OwnConfig(PreTrainedConfig):
    """As a model with code of its own has."""

    model_type = "own"


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (LlamaConfig(), None),
        (Gemma2Config(), None),
        (MambaConfig(), "MambaForCausalLM has recurrent layers"),
        (
            LlamaConfig(layer_types=["chunked_attention"] * 32),
            "LlamaForCausalLM has layers of type chunked_attention",
        ),
        (BloomConfig(), "BloomForCausalLM does not let its attention be replaced"),
        (OwnConfig(), "OwnConfig is not a causal LM of transformers' own"),
        (PhimoeConfig(sliding_window=None), None),
        (PhimoeConfig(sliding_window=64), "the layers of PhimoeForCausalLM do not declare"),
        # In bfloat16 a trial would take what it leaves out for rounding.
        (DogeConfig(), "the layers of DogeForCausalLM add a mask of their own"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, PreTrainedConfig) else "",
)
def test_told_by_the_configuration(config: Any, reason: str | None) -> None:
    found = why_not_packable(config)
    assert (found is None) == (reason is None)
    assert (found or "").startswith(reason or "")


def test_a_rotary_embedding_that_depends_on_the_length() -> None:
    rope = {
        "rope_type": "longrope", "rope_theta": 1e4, "original_max_position_embeddings": 4096,
        "short_factor": [1.0] * 48, "long_factor": [2.0] * 48,
    }  # fmt: skip
    config = Phi3Config(rope_parameters=rope, max_position_embeddings=131072)
    assert why_not_packable(config, max_length=4096) is None
    assert (why_not_packable(config, max_length=4097) or "").startswith("beyond 4096 tokens")


def test_eager_attention_and_attention_dropout_are_not_packed() -> None:
    assert "'eager'" in (why_not_packable(LlamaConfig(), "eager") or "")
    model = tiny_llama(tiny_tokenizer())
    model.config.attention_dropout = 0.1
    assert "an attention dropout of 0.1" in (packing_problem(model) or "")


def test_a_model_that_packs_passes_the_trial_and_is_left_as_it_was() -> None:
    model = tiny_llama(tiny_tokenizer()).train()
    assert packing_problem(model) is None
    assert model.config._attn_implementation == "sdpa"
    assert model.training


def test_a_model_that_ignores_positions_fails_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_llama(tiny_tokenizer(), initializer_range=0.5)
    rotary = model.model.rotary_emb.forward
    monkeypatch.setattr(
        model.model.rotary_emb,
        "forward",
        lambda hidden, position_ids: rotary(hidden, torch.arange(hidden.shape[1])[None]),
    )
    assert "gave logits" in (packing_problem(model) or "")


def test_attention_sinks_fail_the_trial() -> None:
    config = GptOssConfig(
        vocab_size=50, hidden_size=32, intermediate_size=32, num_hidden_layers=2, head_dim=8,
        num_attention_heads=4, num_key_value_heads=2, num_local_experts=2, num_experts_per_tok=1,
        pad_token_id=0,
    )  # fmt: skip
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    assert "attention sinks cannot be packed" in (packing_problem(model) or "")
    assert model.config._attn_implementation == "eager"


def test_weights_that_are_elsewhere_are_not_tried() -> None:
    with torch.device("meta"):
        assert packing_problem(tiny_llama(tiny_tokenizer())) is None
