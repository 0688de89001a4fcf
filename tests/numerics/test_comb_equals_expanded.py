"""One packed row gives the loss and the gradients of the rows it stands for.

Loss rel 1e-10 and gradients rel 1e-9 (norm-wise, per parameter) in float64, 1e-5 in float32.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from peft import LoraConfig, get_peft_model
from transformers.models.llama.modeling_llama import LlamaRMSNorm

from gatt.comb.attention.backend import enable_comb_attention
from gatt.comb.collator import GattCollator, combs_to_features
from gatt.comb.comb import IGNORE, Branch, Comb, expand, fold, split_to_fit
from gatt.comb.loss import supervised_logits
from gatt.comb.objectives.base import cross_entropy
from tests.support.models.combs import VOCABULARY, combs
from tests.support.models.tiny import tiny_llama

SLOW = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
TOLERANCES = {torch.float64: (1e-10, 1e-9), torch.float32: (1e-5, 1e-5)}


class Sized(SimpleNamespace):
    """What `tiny_llama` asks of a tokenizer, for ids without text."""

    def __len__(self) -> int:
        return VOCABULARY


@functools.cache
def model(dtype: torch.dtype = torch.float64) -> Any:
    """Return a Llama with LoRA whose B is random: at its usual zero A has no gradient."""
    base = tiny_llama(
        Sized(eos_token_id=0, pad_token_id=0),
        seed=1,
        initializer_range=0.2,
    ).to(dtype)
    torch.manual_seed(2)
    lora = get_peft_model(base, LoraConfig(r=4, target_modules="all-linear", lora_dropout=0.0))
    lora = lora.to(dtype)
    if dtype == torch.float64:
        for module in lora.modules():
            if isinstance(module, LlamaRMSNorm):
                module.forward = functools.partial(_norm, module)  # type: ignore[method-assign]
    enable_comb_attention(lora)
    for name, parameter in lora.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    return lora


def _norm(module: LlamaRMSNorm, hidden: torch.Tensor) -> torch.Tensor:
    """Llama's norm, without its step through float32: one bit there is 1e-7 in float64."""
    return torch.nn.functional.rms_norm(
        hidden, hidden.shape[-1:], module.weight, module.variance_epsilon
    )


def outcome(model: Any, batches: list[list[Comb]], layout: str) -> tuple[torch.Tensor, dict]:
    """Return summed loss and gradients of all trainable parameters over the batches."""
    model.zero_grad()
    collate = GattCollator(pad_token_id=0, layout=layout)
    total = torch.zeros(())
    for batch in batches:
        rows = collate([combs_to_features([c]) for c in batch])
        logits, labels = supervised_logits(model, rows)
        loss = cross_entropy(logits, labels)
        loss.backward()
        total = total + loss.detach()
    return total, {n: p.grad.clone() for n, p in model.named_parameters() if p.requires_grad}


def assert_same(model: Any, first: list[list[Comb]], second: list[list[Comb]]) -> None:
    """Compare packed batches (`first`) with expanded ones (`second`)."""
    loss_tolerance, gradient_tolerance = TOLERANCES[model.dtype]
    loss, gradients = outcome(model, first, "comb")
    expected, expected_gradients = outcome(model, second, "expanded")
    assert loss > 0
    torch.testing.assert_close(loss, expected, rtol=loss_tolerance, atol=0)
    assert_close(gradients, expected_gradients, gradient_tolerance)


def assert_close(gradients: dict, expected: dict, tolerance: float) -> None:
    """Compare parameter by parameter, relative to the norm of the expected gradient.

    A token that sees itself alone gives queries and keys a gradient of zero, which
    comes out as rounding; hence the floor of some units in the last place of the whole.
    """
    whole = torch.stack([g.norm() for g in expected.values()]).norm()
    for name, gradient in expected.items():
        floor = 16 * torch.finfo(gradient.dtype).eps * whole
        assert (gradients[name] - gradient).norm() <= tolerance * gradient.norm() + floor, name


def written_out(packed: list[Comb]) -> list[list[Comb]]:
    """Return all rows of the combs as batches of three, padded."""
    rows = [row for comb in packed for row in expand(comb)]
    return [rows[i : i + 3] for i in range(0, len(rows), 3)]


def test_the_gradients_compared_are_not_zero() -> None:
    ids = (1, 2, 3)
    _, gradients = outcome(model(), [[Comb(ids, (IGNORE,) * 3, (Branch(3, ids, ids),))]], "comb")
    assert len(gradients) == 2 * 7 * 2  # A and B of seven matrices in two layers
    assert all(g.norm() > 1e-6 for g in gradients.values())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@given(packed=st.lists(combs(), min_size=1, max_size=3))
@SLOW
def test_comb_equals_expanded(dtype, packed) -> None:
    if any(c.num_supervised for c in packed):
        assert_same(model(dtype), [packed], written_out(packed))


@given(
    packed=st.permutations(range(3)).flatmap(
        lambda order: st.tuples(st.just(order), st.tuples(combs(), combs(), combs()))
    )
)
@SLOW
def test_order_and_company_of_documents_change_nothing(packed) -> None:
    order, documents = packed
    if not any(c.num_supervised for c in documents):
        return
    together = outcome(model(), [list(documents)], "comb")
    shuffled = outcome(model(), [[documents[i] for i in order]], "comb")
    alone = outcome(model(), [[c] for c in documents], "comb")
    for loss, gradients in (shuffled, alone):
        torch.testing.assert_close(loss, together[0], rtol=1e-10, atol=0)
        assert_close(gradients, together[1], 1e-9)


@given(comb=combs(), slack=st.integers(0, 12))
@SLOW
def test_split_parts_sum_to_the_whole(comb, slack) -> None:
    if not comb.num_supervised:
        return
    needed = max([b.fork + len(b.input_ids) for b in comb.branches] + [len(comb.trunk)])
    parts = split_to_fit(comb, needed + slack)
    assert_same(model(), [[part] for part in parts], written_out([comb]))


@given(comb=combs(), share=st.integers(0, 2**8))
@SLOW
def test_fold_gives_the_same(comb, share) -> None:
    # Some branches are made what the trunk says anyway, as with history `sampled`.
    branches = tuple(
        replace(b, input_ids=said, labels=said)
        if share >> i & 1 and (said := comb.trunk[b.fork : b.fork + 2])
        else b
        for i, b in enumerate(comb.branches)
    )
    comb = replace(comb, branches=branches)
    if comb.num_supervised:
        assert_same(model(), [[fold(comb)]], written_out([comb]))


def logits_of_all(row: list[Comb]) -> torch.Tensor:
    """Return `[T, V]`: as if every token but the first of a document were supervised."""
    marked = [
        replace(
            c,
            trunk_labels=(IGNORE, *c.trunk[1:]),
            branches=tuple(replace(b, labels=b.input_ids) for b in c.branches),
        )
        for c in row
    ]
    batch = GattCollator(pad_token_id=0)([combs_to_features([c]) for c in marked])
    with torch.no_grad():
        return supervised_logits(model(), batch)[0]


def test_a_branch_changes_neither_trunk_nor_other_branches() -> None:
    trunk = tuple(range(10, 20))
    branches = (Branch(3, (1, 2), (1, 2)), Branch(6, (3, 4, 5), (3, 4, 5)), Branch(10, (6,), (6,)))
    row = [Comb(trunk, (IGNORE,) * 10, branches), Comb((7, 8), (IGNORE,) * 2)]
    before = logits_of_all(row)
    changed = replace(branches[1], input_ids=(50, 51, 52))
    after = logits_of_all([replace(row[0], branches=(branches[0], changed, branches[2])), row[1]])
    # 9 trunk tokens, then branches of 2, 3 and 1, then the second document. The head of the
    # changed branch is predicted in the trunk; only its next two tokens see the change.
    touched = [i for i in range(len(before)) if not torch.equal(before[i], after[i])]
    assert touched == [12, 13]


def test_a_packed_row_for_a_model_without_its_attention_is_refused() -> None:
    batch = GattCollator(pad_token_id=0)([combs_to_features([Comb((1, 2), (IGNORE, 2))])])
    plain = tiny_llama(Sized(eos_token_id=0, pad_token_id=0))
    with pytest.raises(ValueError, match="a packed row for a model with attention 'sdpa'"):
        supervised_logits(plain, batch)
