"""One packed row gives the loss and the gradients of the rows it stands for.

Loss and gradients rel 1e-9 (norm-wise, per parameter) in float64; `test_architectures` has float32.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers.models.llama.modeling_llama import LlamaRMSNorm

from gatt.comb.attention.backend import enable_comb_attention
from gatt.comb.collator import GattCollator, combs_to_features
from gatt.comb.comb import IGNORE, Branch, Comb, fold_branches, split_to_fit
from gatt.comb.loss import supervised_logits
from tests.numerics.test_architectures import assert_same, lora_model, outcome, written_out
from tests.support.models.combs import combs
from tests.support.models.tiny import tiny_llama, tiny_tokenizer

SLOW = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
TOLERANCE = 1e-9


@functools.cache
def model() -> Any:
    """Return a Llama whose norms skip their step through float32: one bit there is 1e-7 in float64."""
    made = lora_model.__wrapped__("llama", torch.float64)
    for module in made.modules():
        if isinstance(module, LlamaRMSNorm):
            module.forward = functools.partial(_norm, module)  # type: ignore[method-assign]
    enable_comb_attention(made)
    return made


def _norm(module: LlamaRMSNorm, hidden: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.rms_norm(
        hidden, hidden.shape[-1:], module.weight, module.variance_epsilon
    )


def assert_as_rows(parts: list[list[Comb]], whole: list[Comb]) -> None:
    """Compare packed batches with the rows that the combs stand for."""
    found = outcome(model(), parts, "comb")
    expected = outcome(model(), written_out(whole, 3), "expanded")
    assert expected[0] > 0
    assert_same(found, expected, TOLERANCE)


def test_the_gradients_compared_are_not_zero() -> None:
    ids = (1, 2, 3)
    _, gradients = outcome(model(), [[Comb(ids, (IGNORE,) * 3, (Branch(3, ids, ids),))]], "comb")
    assert len(gradients) == 2 * 7 * 2  # A and B of seven matrices in two layers
    assert all(g.norm() > 1e-6 for g in gradients.values())


@given(packed=st.lists(combs(), min_size=1, max_size=3))
@SLOW
def test_comb_equals_expanded(packed) -> None:
    if any(c.num_supervised for c in packed):
        assert_as_rows([packed], packed)


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
    for other in (shuffled, alone):
        assert_same(other, together, TOLERANCE)


@given(comb=combs(), slack=st.integers(0, 12))
@SLOW
def test_split_parts_sum_to_the_whole(comb, slack) -> None:
    if not comb.num_supervised:
        return
    needed = max([b.fork + len(b.input_ids) for b in comb.branches] + [len(comb.trunk)])
    parts = split_to_fit(comb, needed + slack)
    assert_as_rows([[part] for part in parts], [comb])


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
        assert_as_rows([[fold_branches(comb)]], [comb])


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
    plain = tiny_llama(tiny_tokenizer())
    with pytest.raises(ValueError, match="a packed row for a model with attention 'sdpa'"):
        supervised_logits(plain, batch)
