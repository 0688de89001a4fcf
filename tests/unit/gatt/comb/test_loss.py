"""The LM head scores supervised positions only, in every layout."""

from __future__ import annotations

import math

import pytest
import torch

from gatt.comb.attention.backend import enable_comb_attention
from gatt.comb.collator import GattCollator, combs_to_features
from gatt.comb.comb import IGNORE, Branch, Comb, expand
from gatt.comb.loss import (
    KL_CHUNK,
    LOSS_CHUNK,
    scored_tokens,
    summed_kl,
    summed_loss,
    supervised_logits,
)
from gatt.errors import TrainingError
from tests.support.models.tiny import tiny_llama, tiny_tokenizer

COMB = Comb(
    tuple(range(10, 30)),
    (IGNORE,) * 20,
    (Branch(5, (40, 41, 42), (40, 41, 42)), Branch(20, (43, 44), (43, 44))),
)


@pytest.mark.parametrize("layout", ["comb", "expanded"])
def test_the_head_scores_as_many_positions_as_there_are_targets(layout) -> None:
    model = tiny_llama(tiny_tokenizer())
    scored: list[torch.Size] = []
    model.lm_head.register_forward_hook(lambda *call: scored.append(call[-1].shape))
    combs = [COMB]
    if layout == "expanded":
        combs = expand(COMB)
        assert len({c.num_tokens for c in combs}) > 1
    else:
        enable_comb_attention(model)
    batch = GattCollator(0, layout)([combs_to_features([c]) for c in combs])
    logits, labels = supervised_logits(model, batch)
    assert [shape[:2].numel() for shape in scored] == [5]
    assert logits.shape[0] == len(labels) == 5
    assert sorted(labels.tolist()) == [40, 41, 42, 43, 44]


@pytest.mark.parametrize("num_rows", [1, 2])
def test_a_model_that_scores_all_positions_whatever_it_is_asked_is_one_line(num_rows) -> None:
    model = tiny_llama(tiny_tokenizer())
    forward = model.forward
    model.forward = lambda *, logits_to_keep, **inputs: forward(**inputs)
    rows = [combs_to_features([c]) for c in expand(COMB)][:num_rows]
    with pytest.raises(
        TrainingError, match=r"LlamaForCausalLM scored .* pays no heed to logits_to"
    ):
        supervised_logits(model, GattCollator(0, "expanded")(rows))


def test_rows_without_a_target_stay_in_the_graph_and_cost_nothing() -> None:
    model = tiny_llama(tiny_tokenizer())
    rows = [Comb((1, 2, 3), (IGNORE,) * 3), Comb((1, 2), (IGNORE,) * 2)]
    batch = GattCollator(0, "expanded")([combs_to_features([c]) for c in rows])
    loss = summed_loss(*supervised_logits(model, batch))
    assert loss.item() == 0
    loss.backward()
    gradients = [p.grad for p in model.model.layers.parameters()]
    assert all(g is not None and not g.any() for g in gradients)


@pytest.mark.parametrize("layout", ["comb", "expanded"])
@pytest.mark.parametrize("in_order", [True, False])
def test_places_are_those_of_the_labels(layout, in_order) -> None:
    model = tiny_llama(tiny_tokenizer())
    combs = [COMB]
    if layout == "expanded":
        combs = expand(COMB)
    else:
        enable_comb_attention(model)
    batch = GattCollator(0, layout)([combs_to_features([c]) for c in combs])
    logits, places = scored_tokens(model, batch, in_order=in_order)
    same_logits, labels = supervised_logits(model, batch, in_order=in_order)
    assert batch["labels"].flatten()[places].tolist() == labels.tolist()
    assert torch.equal(logits, same_logits)
    assert sorted(places.tolist()) == (batch["labels"].flatten() != IGNORE).nonzero()[:, 0].tolist()


def test_kl_by_hand() -> None:
    base = torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]])
    own = torch.tensor([[0.25, 0.5, 0.25], [0.1, 0.1, 0.8]])
    # Only the first differs: 0.5 ln 2 - 0.25 ln 2; logits may be off by a constant.
    found = summed_kl(own.log() + 3, base.log())
    assert found.item() == pytest.approx(0.25 * math.log(2), rel=1e-6)
    assert summed_kl(own[:0], base[:0]).item() == 0
    # What neither ever says.
    barred = torch.tensor([[0.0, -math.inf, 1.0]])
    assert summed_kl(barred, barred).item() == 0


def test_kl_pulls_towards_the_base_and_leaves_the_base_alone() -> None:
    # More than one chunk.
    own, base = (torch.randn(KL_CHUNK + 3, 9, requires_grad=True) for _ in range(2))
    summed_kl(own, base).backward()
    # Its gradient by the logits is the difference of the probabilities.
    assert torch.allclose(own.grad, (own.softmax(-1) - base.softmax(-1)).detach(), atol=1e-6)
    assert base.grad is None


def test_the_head_is_as_before_after_a_failure() -> None:
    model = tiny_llama(tiny_tokenizer())
    batch = GattCollator(0, "expanded")([combs_to_features([c]) for c in expand(COMB)])
    batch["input_ids"] = batch["input_ids"] + 10**6
    with pytest.raises(IndexError):
        supervised_logits(model, batch)
    assert not model.lm_head._forward_pre_hooks


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_logits_of_half_precision_cost_what_they_cost_at_once_and_are_not_held_wide(dtype) -> None:
    num = 2 * LOSS_CHUNK + 7
    generator = torch.Generator().manual_seed(0)
    logits = (3 * torch.randn(num, 50, generator=generator)).to(dtype).requires_grad_()
    labels = torch.randint(50, (num,), generator=generator)
    held: dict[int, int] = {}

    def hold(saved: torch.Tensor) -> torch.Tensor:
        storage = saved.untyped_storage()
        held[storage.data_ptr()] = storage.nbytes()
        return saved

    with torch.autograd.graph.saved_tensors_hooks(hold, lambda saved: saved):
        loss = summed_loss(logits, labels)
    assert sum(held.values()) <= logits.nbytes + labels.nbytes
    loss.backward()
    wide = logits.detach().double().requires_grad_()
    expected = torch.nn.functional.cross_entropy(wide, labels, reduction="sum")
    expected.backward()
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    torch.testing.assert_close(logits.grad, wide.grad.to(dtype), rtol=2**-7, atol=1e-6)
    assert summed_loss(logits.detach(), labels).item() == loss.item()
