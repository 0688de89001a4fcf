"""The attention as transformers calls it, what computes it, and FlexAttention's outputs on CPU."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from transformers import Gemma2Config, Gemma2ForCausalLM

from gatt.comb.attention import backend as flex
from gatt.comb.attention.backend import (
    IMPLEMENTATION,
    CombAttention,
    choose_backend,
    comb_attention_forward,
    enable_comb_attention,
    flex_block_attention,
    plan_block_mask,
)
from gatt.comb.attention.lengths import padded_length
from gatt.comb.comb import IGNORE, Branch, Comb
from gatt.errors import ConfigError
from tests.support.models.combs import combs
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


@given(
    documents=st.lists(combs(), min_size=1, max_size=3),
    window=st.none() | st.integers(1, 12),
    softcap=st.none() | st.just(2.0),
)
@settings(deadline=None, max_examples=20)
def test_outputs_are_those_of_the_whole_mask(documents, window, softcap) -> None:
    geometry = geometry_of(documents)
    query, key, value = (t.float() for t in tensors(geometry.num_tokens))
    mask = plan_block_mask(geometry, window)
    found = flex_block_attention(query, key, value, mask, scale=0.3, softcap=softcap)
    expected = plain(query, key, value, geometry.mask(window), 0.3, softcap)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("most_pairs", [flex.MOST_PAIRS, 1])
@pytest.mark.parametrize("window", [None, 400])
def test_the_blocks_are_those_that_torch_finds(monkeypatch, most_pairs, window) -> None:
    monkeypatch.setattr(flex, "MOST_PAIRS", most_pairs)
    branches = tuple(Branch(at, tuple(range(90)), (IGNORE,) * 90) for at in (200, 300, 500))
    long = Comb(tuple(range(600)), (IGNORE,) * 600, branches)
    geometry = geometry_of([long, Comb(tuple(range(300)), (IGNORE,) * 300)])
    mask = plan_block_mask(geometry, window)
    length = padded_length(geometry.num_tokens)
    whole = torch.zeros(length, length, dtype=torch.bool)
    whole[: geometry.num_tokens, : geometry.num_tokens] = geometry.mask(window)
    expected = create_block_mask(lambda b, h, q, k: whole[q, k], None, None, length, length, "cpu")
    # Both with blocks that are seen whole and such that are seen in part.
    assert expected.full_kv_num_blocks.sum() > 2
    for field in (
        "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks",
        "q_indices", "full_q_num_blocks", "full_q_indices",
    ):  # fmt: skip
        assert getattr(mask, field).tolist() == getattr(expected, field).tolist(), field
    assert mask.BLOCK_SIZE == expected.BLOCK_SIZE
    assert mask.seq_lengths == expected.seq_lengths


@pytest.mark.processes
def test_there_are_as_many_kernels_as_lengths_and_kinds_of_layer(monkeypatch) -> None:
    """Trap 10: 14 lengths stay fused, beyond torch's own limit of 8, and share kernels."""
    graphs = []

    def count(graph, inputs):
        graphs.append([tuple(i.shape) for i in inputs if isinstance(i, torch.Tensor)])
        return graph.forward

    torch._dynamo.reset()
    counted = torch.compile(flex_attention, dynamic=False, fullgraph=True, backend=count)
    monkeypatch.setattr(flex, "_function", lambda device: counted)
    lengths = [100, 120, 129, 250, 300, 390, 400, 600, 700, 900, 1000, 1100, 1600, 2100]
    for length in lengths:
        geometry = geometry_of([Comb(tuple(range(length)), (IGNORE,) * length)])
        query, key, value = (t.float() for t in tensors(length))
        for window in (None, 50):
            mask = plan_block_mask(geometry, window)
            flex_block_attention(query, key, value, mask, scale=0.3)
    torch._dynamo.reset()
    num_lengths = len({padded_length(length) for length in lengths})
    assert num_lengths == 9
    assert len(graphs) == 2 * num_lengths
