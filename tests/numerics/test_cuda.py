"""What only a GPU can show: FlexAttention against split attention, loss and every LoRA gradient.

Norm-wise per tensor, 1e-2 in bfloat16 and 1e-4 in float32.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

from gatt.attention.backend import Backend, enable_comb_attention
from gatt.collator import GattCollator, combs_to_features
from gatt.comb import IGNORE, Branch, Comb
from gatt.loss import summed_loss, supervised_logits
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


def outcome(model: Any, combs: list[Comb], backend: Backend) -> tuple[float, dict[str, Any]]:
    model.zero_grad()
    rows = GattCollator(0)([combs_to_features([c]) for c in combs])
    batch = {name: value.cuda() for name, value in rows.items()}
    loss = summed_loss(*supervised_logits(model, batch, backend))
    loss.backward()
    return loss.item(), {n: p.grad.clone() for n, p in model.named_parameters() if p.requires_grad}


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_flex_equals_split(name, dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", False)
    model = lora_model(name, dtype, head_dim=16, hidden_size=64).cuda()
    enable_comb_attention(model)
    for number, combs in enumerate(([long_comb(0, 3)], [long_comb(1, 5), long_comb(2, 1)])):
        loss, gradients = outcome(model, combs, "flex")
        expected, expected_gradients = outcome(model, combs, "split")
        assert loss == pytest.approx(expected, rel=TOLERANCES[dtype])
        for key, gradient in expected_gradients.items():
            error = (gradients[key] - gradient).float().norm() / gradient.float().norm()
            assert error < TOLERANCES[dtype], (number, key)


def test_no_more_kernels_than_buckets() -> None:
    """Trap 10: 30 lengths in three buckets compile for three of them, forward and backward."""
    model = lora_model("llama", torch.bfloat16, head_dim=16, hidden_size=64).cuda()
    enable_comb_attention(model)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    for seed in range(30):
        outcome(model, [long_comb(seed, 1 + seed % 6)], "flex")
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 2 * 4
