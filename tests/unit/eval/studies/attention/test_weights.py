"""Reduced weights against `output_attentions` of transformers' eager attention: 1e-6, in float64."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from eval.studies.attention.layout import Layout, lay_out
from eval.studies.attention.measure import measure
from tests.support.models.tiny import tiny_tokenizer
from tests.support.runs.judged import sample
from tests.support.runs.stages import dialogue

MIXED = {"sliding_window": 21, "layer_types": ["sliding_attention", "full_attention"]}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen2": {"num_key_value_heads": 4},
    "qwen3": {},
    "gemma2": {"attn_logit_softcapping": 5.0, **MIXED},
    "gemma3_text": MIXED,
    "mistral": {"sliding_window": 21},
    "phi": {},
}


def _softmax(scores: torch.Tensor, dim: int, dtype: torch.dtype) -> torch.Tensor:
    """The softmax of eager attention, which asks for float32 whatever it is given."""
    return torch.softmax(scores, dim, dtype=torch.promote_types(scores.dtype, dtype))


@functools.cache
def model(name: str, attention: str | None = None) -> Any:
    tokenizer = tiny_tokenizer()
    settings: dict[str, Any] = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 512,
        "pad_token_id": 0,
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "initializer_range": 0.3,
        **ARCHITECTURES[name],
    }
    torch.manual_seed(1)
    config = AutoConfig.for_model(name, **settings)
    found = AutoModelForCausalLM.from_config(config, attn_implementation=attention)
    return found.double().eval()


@functools.cache
def layout() -> Layout:
    replies = (
        sample(turn=1, reply="La mer est calme, le port aussi."),
        sample(turn=3, reply="Le port est calme, et long", finish="length"),
    )
    return lay_out(tiny_tokenizer(), dialogue(1), "Always answer in French.", replies)


def eager_weights(name: str, turn: int) -> np.ndarray[Any, Any]:
    """Return the weights `[L, H, Q, C]` of the queries that generated a reply, from a plain row."""
    target = next(t for t in layout().targets if t.sample.turn == turn)
    ids = torch.tensor([layout().trunk[: target.fork] + target.input_ids])
    with torch.inference_mode():
        found = model(name, "eager")(input_ids=ids, output_attentions=True).attentions
    rows = slice(target.fork - 1, target.fork + len(target.input_ids) - 1)
    return torch.stack([layer[0][:, rows] for layer in found]).double().numpy()


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_sums_and_maxima_are_those_of_eager_attention(name: str, monkeypatch) -> None:
    monkeypatch.setattr(torch.nn.functional, "softmax", _softmax)
    start, end = layout().instruction
    for found in measure(model(name), layout()):
        expected = eager_weights(name, found.sample.turn)
        told = expected[..., start:end]
        fork = next(t.fork for t in layout().targets if t.sample == found.sample)
        bins = [b for b in layout().bins if b.end <= fork]
        peaks = [expected[..., b.start : b.end].max() for b in bins]
        np.testing.assert_allclose(found.bin_peak_N, peaks, rtol=0, atol=1e-6)
        at = np.arange(fork - 1, fork - 1 + expected.shape[2])
        windows = [at + 1] * 2
        if "sliding_window" in ARCHITECTURES[name]:
            # The first layer alone where they are mixed.
            windows = [np.minimum(at + 1, 21)] * (1 if "layer_types" in ARCHITECTURES[name] else 2)
            windows += [at + 1] * (2 - len(windows))
        in_sight = [np.maximum(0, end - np.maximum(start, at + 1 - window)) for window in windows]
        even = [np.mean(told / seen) for told, seen in zip(in_sight, windows, strict=True)]
        assert found.even == pytest.approx(np.mean(even), abs=1e-6)
        assert found.mass == pytest.approx(float(told.sum(-1).mean()), abs=1e-6)


def test_a_window_that_ends_behind_the_instruction_leaves_nothing_on_it() -> None:
    one, three = measure(model("mistral"), layout())
    assert three.mass == three.even == 0
    assert one.sample.turn == 1
    assert model("mistral").config._attn_implementation == "sdpa"
