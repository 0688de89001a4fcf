"""What only a GPU can show: FlexAttention against split attention, loss and every LoRA gradient.

Norm-wise per tensor, 1e-2 in bfloat16 and 1e-4 in float32.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

from gatt.attention.backend import Backend, enable_comb_attention
from gatt.attention.flex import bucket
from gatt.collator import GattCollator, combs_to_features
from gatt.comb import IGNORE, Branch, Comb, expand
from gatt.loss import summed_kl, summed_loss, supervised_logits
from tests.numerics.test_architectures import ARCHITECTURES, VOCABULARY, lora_model

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

TOLERANCES = {torch.float32: 1e-4, torch.bfloat16: 1e-2}


def long_comb(seed: int, num_turns: int) -> Comb:
    """Return a comb of some hundred tokens, longer than a block of the mask."""
    rng = random.Random(seed)

    def ids(length: int) -> tuple[int, ...]:
        return tuple(rng.randrange(VOCABULARY) for _ in range(length))

    trunk: tuple[int, ...] = ()
    branches = []
    for _ in range(num_turns):
        trunk += ids(rng.randint(5, 40))
        target = ids(rng.randint(1, 40))
        branches.append(Branch(len(trunk), target, target))
        trunk += ids(rng.randint(5, 40))
    return Comb(trunk, (IGNORE,) * len(trunk), tuple(branches))


@pytest.fixture(autouse=True)
def _fresh_kernels():
    torch._dynamo.reset()


def outcome(
    model: Any, combs: list[Comb], backend: Backend, layout: Any = "comb", *, by_kl: bool = False
) -> tuple[float, dict[str, Any]]:
    model.zero_grad()
    rows = GattCollator(0, layout)([combs_to_features([c]) for c in combs])
    batch = {name: value.cuda() for name, value in rows.items()}
    if by_kl:
        with torch.no_grad(), model.disable_adapter():
            base, _ = supervised_logits(model, batch, backend)
        loss = summed_kl(supervised_logits(model, batch, backend)[0], base)
    else:
        loss = summed_loss(*supervised_logits(model, batch, backend))
    loss.backward()
    return loss.item(), {n: p.grad.clone() for n, p in model.named_parameters() if p.requires_grad}


def assert_same(found: Any, expected: Any, tolerance: float) -> None:
    assert found[0] == pytest.approx(expected[0], rel=tolerance)
    for key, gradient in expected[1].items():
        error = (found[1][key] - gradient).float().norm() / gradient.float().norm()
        assert error < tolerance, key


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_flex_equals_split(name, dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", False)
    model = lora_model(name, dtype, head_dim=16, hidden_size=64).cuda()
    enable_comb_attention(model)
    combs = [long_comb(1, 5), long_comb(2, 1)]
    assert_same(outcome(model, combs, "flex"), outcome(model, combs, "split"), TOLERANCES[dtype])


@pytest.mark.parametrize("name", ["llama", "gemma3_text"])
def test_flex_equals_split_by_kl(name, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a forward pass without gradients in front."""
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", False)
    model = lora_model(name, torch.float32, head_dim=16, hidden_size=64).cuda()
    enable_comb_attention(model)
    combs = [long_comb(1, 5), long_comb(2, 1)]
    expected = outcome(model, combs, "split", by_kl=True)
    assert_same(outcome(model, combs, "flex", by_kl=True), expected, 1e-4)


@pytest.mark.parametrize("name", ["llama", "gemma3_text"])
def test_flex_equals_expanded_rows(name, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against transformers' own attention on plain rows."""
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", False)
    model = lora_model(name, torch.float32, head_dim=16, hidden_size=64).cuda()
    comb = long_comb(3, 4)
    model.get_base_model().set_attn_implementation("sdpa")
    expected = outcome(model, expand(comb), "split", "expanded")
    enable_comb_attention(model)
    assert_same(outcome(model, [comb], "flex"), expected, 1e-4)


def test_no_more_kernels_than_buckets_and_kinds_of_layer() -> None:
    """Trap 10: 40 lengths in two kinds of layer stay fused, beyond torch's own limit of 8."""
    model = lora_model("gemma3_text", torch.bfloat16, head_dim=16, hidden_size=64).cuda()
    enable_comb_attention(model)
    torch._dynamo.utils.counters.clear()
    lengths = set()
    for seed in range(40):
        comb = long_comb(seed, 1 + seed % 12)
        lengths.add(bucket(comb.num_tokens))
        outcome(model, [comb], "flex", by_kl=seed % 2 == 0)
    assert len(lengths) > 4  # more than 8 keys
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 2 * 2 * 2 * len(lengths)
