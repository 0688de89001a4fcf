"""The attention as transformers calls it, and the choice of what computes it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from transformers import Gemma2Config, Gemma2ForCausalLM

from gatt.comb.attention.backend import (
    IMPLEMENTATION,
    CombAttention,
    choose_backend,
    comb_attention_forward,
    enable_comb_attention,
)
from gatt.comb.comb import IGNORE, Branch, Comb
from gatt.errors import ConfigError
from tests.support.models.tiny import tiny_llama, tiny_tokenizer
from tests.unit.gatt.comb.attention.test_split import geometry_of, plain, tensors

GEOMETRY = geometry_of([Comb(tuple(range(9)), (IGNORE,) * 9, (Branch(4, (1, 2), (1, 2)),))])
CPU, CUDA = torch.device("cpu"), torch.device("cuda")


def test_choice_of_the_back_end() -> None:
    assert [choose_backend(None, device) for device in (CPU, CUDA)] == ["split", "flex"]
    assert [choose_backend(w, CUDA) for w in ("sdpa", "flex_attention")] == ["split", "flex"]
    with pytest.raises(ConfigError, match="'flex_attention': it trains on CUDA only: use 'sdpa'"):
        choose_backend("flex_attention", CPU)


def test_without_a_packed_row_it_is_sdpa() -> None:
    model = tiny_llama(tiny_tokenizer())
    ids = torch.arange(12)[None] % 7
    mask = torch.tensor([[1] * 9 + [0] * 3])
    expected = model(input_ids=ids, attention_mask=mask).logits
    enable_comb_attention(model)
    assert model.config._attn_implementation == IMPLEMENTATION
    assert torch.equal(model(input_ids=ids, attention_mask=mask).logits, expected)


@pytest.mark.parametrize("is_training", [False, True])
def test_without_a_packed_row_bent_scores_are_those_of_eager(is_training) -> None:
    """SDPA refuses them, and a model that is measured while it trains answers plain prompts."""
    settings = Gemma2Config(
        vocab_size=40, hidden_size=32, intermediate_size=32, num_hidden_layers=2, head_dim=8,
        num_attention_heads=4, num_key_value_heads=2, sliding_window=5, attn_logit_softcapping=0.5,
        attn_implementation="eager",
    )  # fmt: skip
    torch.manual_seed(0)
    model = Gemma2ForCausalLM(settings).train(is_training)
    ids = torch.arange(24).reshape(2, 12) % 7
    right = torch.tensor([[1] * 12, [1] * 9 + [0] * 3])
    batches = [
        {"input_ids": ids}, {"input_ids": ids, "attention_mask": right},
        {"input_ids": ids, "attention_mask": right.flip(1)},
    ]  # fmt: skip
    expected = [model(**batch).logits for batch in batches]
    steps = model.generate(ids, max_new_tokens=4, do_sample=False)
    enable_comb_attention(model)
    for batch, logits in zip(batches, expected, strict=True):
        seen = batch.get("attention_mask", torch.ones_like(ids)).bool()
        torch.testing.assert_close(model(**batch).logits[seen], logits[seen])
    assert torch.equal(model.generate(ids, max_new_tokens=4, do_sample=False), steps)


def test_a_window_told_by_the_layer_type_alone() -> None:
    query, key, value = tensors(11)
    config = SimpleNamespace(layer_types=["full_attention", "sliding_attention"], sliding_window=3)
    for layer, window in ((0, None), (1, 3)):
        module = SimpleNamespace(config=config, layer_idx=layer, training=True)
        found, weights = comb_attention_forward(
            module, query, key, value, None, comb_attention=CombAttention(GEOMETRY, "split")
        )
        assert weights is None
        expected = plain(query, key, value, GEOMETRY.mask(window), 8**-0.5, None)
        torch.testing.assert_close(found, expected)
