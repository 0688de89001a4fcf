"""The LM head scores supervised positions only, a piece at a time, in every layout."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM

from gatt.comb.attention.backend import enable_comb_attention
from gatt.comb.collator import GattCollator, combs_to_features
from gatt.comb.comb import IGNORE, Branch, Comb, expand
from gatt.comb.loss import batch_loss, reference_hidden, supervised_logits
from gatt.comb.objectives.base import cross_entropy
from gatt.comb.objectives.kl import Kl, kl
from gatt.comb.objectives.table import Objectives
from gatt.errors import TrainingError
from tests.support.models.tiny import tiny_llama, tiny_tokenizer

COMB = Comb(
    tuple(range(10, 30)),
    (IGNORE,) * 20,
    # Two branches that one trunk token predicts.
    (Branch(5, (40, 41, 42), (40, 41, 42)), Branch(5, (44,), (44,)), Branch(20, (43,), (43,))),
)
PLAIN = Comb(tuple(range(9)), (IGNORE,) * 9, (Branch(9, (7, 3, 1), (7, 3, 1), "kl"),))
VOCABULARY = 60
MODELS: dict[str, dict[str, Any]] = {
    "llama": {}, "gemma2": {"final_logit_softcapping": 3.0, "head_dim": 8},
    "granite": {"logits_scaling": 4.0}, "mixtral": {"num_local_experts": 2}, "gpt2": {"n_head": 4},
}  # fmt: skip


def lora_model(name: str, modules_to_save: list[str] | None) -> Any:
    config = AutoConfig.for_model(
        name, vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, initializer_range=0.2, pad_token_id=0,
        bos_token_id=None, eos_token_id=1, **MODELS[name],
    )  # fmt: skip
    torch.manual_seed(1)
    lora = LoraConfig(
        task_type="CAUSAL_LM", r=4, target_modules="all-linear", modules_to_save=modules_to_save
    )
    model = get_peft_model(AutoModelForCausalLM.from_config(config), lora).eval()
    for weight in model.parameters():
        if weight.requires_grad:
            torch.nn.init.normal_(weight, std=0.1)
    return model


def batch_of(combs: list[Comb], layout: Any) -> dict[str, torch.Tensor]:
    rows = [c for comb in combs for c in expand(comb)] if layout == "expanded" else combs
    return GattCollator(0, layout)([combs_to_features([c]) for c in rows])


@pytest.mark.parametrize("head", [None, ["lm_head"]], ids=["frozen head", "trained head"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("piece", [2**23, 2 * VOCABULARY], ids=["one piece", "pieces of two"])
def test_pieces_equal_all_logits_at_once(name, head, piece, monkeypatch) -> None:
    monkeypatch.setattr("gatt.comb.objectives.base.PIECE", piece)
    model = lora_model(name, head)
    layout = "expanded" if name == "gpt2" else "comb"
    if layout == "comb":
        enable_comb_attention(model)
    batch = batch_of([COMB, PLAIN], layout)
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    with torch.no_grad(), model.disable_adapter():
        base, _ = supervised_logits(model, batch)
        base_hidden = reference_hidden(model, batch)
    logits, labels = supervised_logits(model, batch)
    held = kl(base[-3:], logits[-3:])
    expected = cross_entropy(logits[:-3], labels[:-3]) + 3 * held
    found = batch_loss(model, batch, objectives=Objectives((Kl(3.0),)), reference_KH=base_hidden)
    torch.testing.assert_close(found.loss, expected, rtol=1e-5, atol=0)
    correct = (logits[:-3].argmax(-1) == labels[:-3]).sum()
    assert found.sums["targets"].tolist() == [5, correct]
    torch.testing.assert_close(
        found.sums["kl"], torch.stack([held.new_tensor(3), held.detach()]), rtol=1e-5, atol=0
    )
    for own, other in zip(
        torch.autograd.grad(found.loss, weights),
        torch.autograd.grad(expected, weights),
        strict=True,
    ):
        assert (own - other).norm() <= 1e-5 * other.norm()


@pytest.mark.parametrize("layout", ["comb", "expanded"])
def test_the_head_scores_the_targets_alone_and_no_more_than_a_piece(layout, monkeypatch) -> None:
    model = tiny_llama(tiny_tokenizer())
    monkeypatch.setattr("gatt.comb.objectives.base.PIECE", 2 * len(model.lm_head.weight))
    if layout == "comb":
        enable_comb_attention(model)
    batch, scored, hooked = batch_of([COMB], layout), [], []
    score = model.lm_head.forward
    model.lm_head.forward = lambda hidden: scored.append(hidden.shape) or score(hidden)
    handle = model.lm_head.register_forward_pre_hook(lambda *_: hooked.append(1))
    before = dict(model.__dict__)
    batch_loss(model, batch)
    handle.remove()
    del model.lm_head.forward
    assert [shape[1] for shape in scored] == [2, 2, 1]
    # Hooks gather sharded weights on all processes together, and another process may have other pieces.
    assert len(hooked) == 1
    logits, labels = supervised_logits(model, batch)
    assert logits.shape[0] == len(labels) == 5
    assert labels.tolist() == [40, 41, 42, 44, 43]
    assert model.__dict__ == before


@pytest.mark.parametrize("num_rows", [1, 2])
@pytest.mark.parametrize("of", [batch_loss, supervised_logits])
def test_a_model_that_scores_all_positions_whatever_it_is_asked(num_rows, of) -> None:
    model = tiny_llama(tiny_tokenizer())
    forward = model.forward
    model.forward = lambda *, logits_to_keep, **inputs: forward(**inputs)
    rows = [combs_to_features([c]) for c in expand(COMB)][:num_rows]
    with pytest.raises(TrainingError, match=r"LlamaForCausalLM scored .* logits_to_keep"):
        of(model, GattCollator(0, "expanded")(rows))
    assert not model.lm_head._forward_pre_hooks
    assert "forward" not in model.lm_head.__dict__


@pytest.mark.parametrize("layout", ["comb", "expanded"])
def test_a_teacher_reads_other_tokens_than_the_student(layout: str) -> None:
    """Between combs of other objectives, one of which needs the base model at its own tokens."""
    replies = (Branch(4, (40, 41), (40, 41), "distil"), Branch(6, (42,), (42,), "distil"))
    first, second = (replace(reply, fork=fork) for reply, fork in zip(replies, (7, 3), strict=True))
    apart = tuple(
        Comb(tuple(range(start, start + 7)), (IGNORE,) * 7, (reply,), "distil")
        for start, reply in ((50, first), (30, second))
    )
    taught = Comb(tuple(range(10, 16)), (IGNORE,) * 6, replies, "distil", teacher=apart)
    model = lora_model("llama", None)
    if layout == "comb":
        enable_comb_attention(model)
    batch = batch_of([PLAIN, COMB, taught, PLAIN], layout)
    logits, labels = supervised_logits(model, batch)
    assert labels.tolist() == [7, 3, 1, 40, 41, 42, 44, 43, 40, 41, 42, 7, 3, 1]
    read = batch_of([PLAIN, *apart, PLAIN], layout)
    with torch.no_grad(), model.disable_adapter():
        base, base_labels = supervised_logits(model, read)
        hidden = reference_hidden(model, batch)
    assert base_labels.tolist() == [7, 3, 1, 40, 41, 42, 7, 3, 1]
    is_plain = torch.tensor([True] * 3 + [False] * 3 + [True] * 3)
    held = kl(base, logits[torch.tensor([0, 1, 2, 8, 9, 10, 11, 12, 13])])
    found = batch_loss(model, batch, reference_KH=hidden)
    expected = cross_entropy(logits[3:8], labels[3:8]) + held
    torch.testing.assert_close(found.loss, expected, rtol=1e-5, atol=0)
    assert [found.sums[name][0] for name in ("targets", "kl", "distil")] == [5, 6, 3]
    plain = kl(base[is_plain], logits[torch.tensor([0, 1, 2, 11, 12, 13])])
    assert found.sums["kl"][1].item() == pytest.approx(plain.item(), rel=1e-5)


def test_kl_by_hand() -> None:
    base = torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]])
    own = torch.tensor([[0.25, 0.5, 0.25], [0.1, 0.1, 0.8]])
    # Only the first differs: 0.5 ln 2 - 0.25 ln 2; logits may be off by a constant.
    found = kl(base.log(), own.log() + 3)
    assert found.item() == pytest.approx(0.25 * math.log(2), rel=1e-6)
    # What neither ever says.
    barred = torch.tensor([[0.0, -math.inf, 1.0]])
    assert kl(barred, barred).item() == 0
