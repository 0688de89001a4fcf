"""Comb against expanded rows for each architecture: loss and every LoRA gradient.

Norm-wise per tensor, 1e-4 in float32 and 1e-6 in float64. Dialogues are drawn at random; sliding
windows are far shorter than the dialogues. The expanded rows go through transformers' own attention.
"""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoConfig, AutoModelForCausalLM

from gatt.comb.attention.backend import enable_comb_attention
from gatt.comb.collator import GattCollator, combs_to_features
from gatt.comb.comb import IGNORE, Branch, Comb, expand
from gatt.comb.loss import batch_loss, supervised_logits
from gatt.comb.model_support import packing_problem
from gatt.comb.objectives.base import cross_entropy
from tests.support.models.combs import VOCABULARY, combs
from tests.support.models.tiny import randomise

TOLERANCES = {torch.float32: 1e-4, torch.float64: 1e-6}
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 256,
    "pad_token_id": 0, "bos_token_id": None, "eos_token_id": 1, "initializer_range": 0.2,
}  # fmt: skip
MIXED = {"sliding_window": 7, "layer_types": ["sliding_attention", "full_attention"]}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen2": {},
    "qwen2_sliding": {"model_type": "qwen2", "use_sliding_window": True, **MIXED},
    "qwen3": {},
    "gemma2": {"attn_implementation": "eager", "attn_logit_softcapping": 5.0, **MIXED},
    "gemma3_text": MIXED,
    "mistral": {"sliding_window": None},
    "mistral_sliding": {"model_type": "mistral", "sliding_window": 7},
    "phi": {},
    "phi3": {"sliding_window": 7},
}


def _softmax(scores: torch.Tensor, dim: int, dtype: torch.dtype) -> torch.Tensor:
    """The softmax of eager attention, which asks for float32 whatever it is given."""
    return torch.softmax(scores, dim, dtype=torch.promote_types(scores.dtype, dtype))


@pytest.fixture(autouse=True, scope="module")
def _eager_attention_in_its_own_precision():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.nn.functional, "softmax", _softmax)
        yield


@functools.cache
def lora_model(name: str, dtype: torch.dtype, **more: Any) -> Any:
    settings = {"model_type": name, **SIZES, **ARCHITECTURES[name], **more}
    attention = settings.pop("attn_implementation", "sdpa")
    config = AutoConfig.for_model(settings.pop("model_type"), **settings)
    torch.manual_seed(1)
    base = AutoModelForCausalLM.from_config(config, attn_implementation=attention)
    lora = LoraConfig(r=4, target_modules="all-linear", lora_dropout=0.0)
    model = get_peft_model(base, lora, autocast_adapter_dtype=False).to(dtype).eval()
    randomise(model, scale=0.1)
    return model


def outcome(model: Any, batches: list[list[Comb]], layout: Any) -> tuple[float, dict[str, Any]]:
    base = model.get_base_model()
    before = base.config._attn_implementation
    if layout == "comb":
        enable_comb_attention(model)
    model.zero_grad()
    total = 0.0
    for batch in batches:
        rows = GattCollator(0, layout)([combs_to_features([c]) for c in batch])
        if layout == "comb":
            loss = batch_loss(model, rows).loss
        else:
            loss = cross_entropy(*supervised_logits(model, rows))
        loss.backward()
        total += loss.item()
    base.set_attn_implementation(before)
    return total, {n: p.grad.clone() for n, p in model.named_parameters() if p.requires_grad}


def written_out(packed: list[Comb], num_rows: int) -> list[list[Comb]]:
    """Return all rows of the combs as batches of so many, padded."""
    rows = [row for comb in packed for row in expand(comb)]
    return [rows[i : i + num_rows] for i in range(0, len(rows), num_rows)]


def assert_same(found: Any, expected: Any, tolerance: float) -> None:
    """Compare the loss, and the gradients parameter by parameter relative to their norms."""
    assert found[0] == pytest.approx(expected[0], rel=tolerance)
    whole = torch.stack([g.norm() for g in expected[1].values()]).norm()
    for name, gradient in expected[1].items():
        # A token that sees itself alone gives queries and keys a gradient of zero: rounding.
        floor = 16 * torch.finfo(gradient.dtype).eps * whole
        assert (found[1][name] - gradient).norm() <= tolerance * gradient.norm() + floor, name


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("name", ARCHITECTURES)
@given(packed=st.lists(combs(max_turns=12), min_size=1, max_size=3), num_rows=st.integers(1, 4))
@settings(max_examples=8, deadline=None)
def test_comb_equals_expanded(name, dtype, packed, num_rows) -> None:
    if not any(c.num_supervised for c in packed):
        return
    model = lora_model(name, dtype)
    assert packing_problem(model.get_base_model()) is None
    found = outcome(model, [packed], "comb")
    expected = outcome(model, written_out(packed, num_rows), "expanded")
    assert_same(found, expected, TOLERANCES[dtype])


DIALOGUE = Comb(
    tuple(range(2, 42)), (IGNORE,) * 40, tuple(Branch(f, (f, 1), (f, 1)) for f in (5, 19, 30, 40))
)


@pytest.mark.parametrize("name", ["llama", "gemma2", "gemma3_text"])
def test_autocast_to_bfloat16(name) -> None:
    """Rounding only: bfloat16 keeps 8 bits, so a hundredth of the loss."""
    model = lora_model(name, torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        loss, gradients = outcome(model, [[DIALOGUE]], "comb")
        expected, expected_gradients = outcome(model, [expand(DIALOGUE)], "expanded")
    assert loss == pytest.approx(expected, rel=0.01)
    for key, gradient in expected_gradients.items():
        assert torch.nn.functional.cosine_similarity(
            gradients[key].flatten(), gradient.flatten(), dim=0
        ) > 0.98, key  # fmt: skip


def test_a_model_prepared_for_quantised_training() -> None:
    """As QLoRA prepares it: the base in bfloat16 with norms in float32, checkpointing on."""
    base = lora_model.__wrapped__("llama", torch.float32).unload().to(torch.bfloat16)
    base.is_loaded_in_4bit = True
    prepared = prepare_model_for_kbit_training(base, use_gradient_checkpointing=True)
    assert {p.dtype for p in prepared.parameters()} == {torch.float32}
    model = get_peft_model(prepared, LoraConfig(r=4, target_modules="all-linear")).train()
    randomise(model, scale=0.1)
    loss, gradients = outcome(model, [[DIALOGUE]], "comb")
    expected, expected_gradients = outcome(model, [expand(DIALOGUE)], "expanded")
    assert loss == pytest.approx(expected, rel=1e-4)
    for key, gradient in expected_gradients.items():
        assert (gradients[key] - gradient).norm() <= 1e-4 * gradient.norm() + 1e-6, key
