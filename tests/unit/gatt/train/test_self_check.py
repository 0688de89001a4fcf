"""A back end of packed rows that is wrong, by a token or altogether, is found and not used."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from gatt.comb.attention.backend import plan_blocks, split_attention
from gatt.comb.collator import TRUNK, RowGeometry
from gatt.comb.model_support import MOST_ERROR, MOST_ERROR_BF16
from gatt.train.self_check import check_attention, tiny_model
from tests.support.models.first_step import ready

CHANGES: dict[str, Any] = {
    "nothing": lambda row, window: (row, window),
    "one token more": lambda row, window: (
        replace(row, visible=row.visible + (row.branch_ids != TRUNK).long()), window
    ),
    "no window": lambda row, _: (row, None),
}  # fmt: skip


def flex_is(monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    """Let the back end `flex`, which does not train on a CPU, compute what `split` does of another row."""

    def plan(row: RowGeometry, window: int | None, lengths: Sequence[int]) -> Any:
        changed, seen = CHANGES[change](row, window)
        return plan_blocks(changed, torch.float32, seen)

    def attend(query: Any, key: Any, value: Any, plan: Any, **settings: Any) -> Any:
        masks = (None if block.mask is None else block.mask.to(query.dtype) for block in plan)
        blocks = tuple(replace(b, mask=mask) for b, mask in zip(plan, masks, strict=True))
        return split_attention(query, key, value, blocks, **settings)

    monkeypatch.setattr("gatt.comb.attention.backend.plan_block_mask", plan)
    monkeypatch.setattr("gatt.comb.attention.backend.flex_block_attention", attend)


@pytest.mark.parametrize("bf16", [False, True])
def test_what_is_right_passes_and_the_model_is_as_before(monkeypatch, bf16) -> None:
    flex_is(monkeypatch, "nothing")
    model = tiny_model().train()
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    draws = torch.get_rng_state()
    findings = check_attention(model, ("split", "flex"), bf16=bf16)
    assert [f.backend for f in findings] == ["split", "flex"]
    assert [f.problem for f in findings] == [None, None]
    assert all(f.gradient_error < (0.02 if bf16 else 1e-5) for f in findings)
    assert {f.dtype for f in findings} == {"bfloat16" if bf16 else "float32"}
    assert torch.equal(torch.get_rng_state(), draws)
    assert model.training
    assert model.config._attn_implementation == "sdpa"
    after = dict(model.named_parameters())
    assert after.keys() == before.keys()
    assert all(w.grad is None for w in after.values())
    assert all(w.requires_grad == ("lora_" in name) for name, w in after.items())
    assert all(torch.equal(after[name], weight) for name, weight in before.items())


@pytest.mark.parametrize(("change", "bf16"), [("one token more", True), ("no window", False)])
def test_what_is_wrong_is_found(monkeypatch: Any, change: str, bf16: bool) -> None:
    flex_is(monkeypatch, change)
    right, wrong = check_attention(tiny_model(), ("split", "flex"), bf16=bf16)
    assert right.is_right
    assert not wrong.is_right
    assert wrong.gradient_error > (MOST_ERROR_BF16 if bf16 else MOST_ERROR)


def test_what_fails_is_a_finding() -> None:
    """As FlexAttention does, whose backward pass no CPU has."""
    (finding,) = check_attention(tiny_model(), ("flex",))
    assert "NotImplementedError" in (finding.problem or "")


@pytest.mark.parametrize(("change", "used"), [("nothing", "flex"), ("one token more", "split")])
def test_a_run_does_not_use_what_is_wrong(make, monkeypatch, caplog, change, used) -> None:
    flex_is(monkeypatch, change)
    monkeypatch.setattr("gatt.train.trainer.choose_backend", lambda *_: "flex")
    config = make(layout="comb")
    with caplog.at_level(logging.WARNING):
        trainer = ready(config)
    assert trainer._backend == used
    lines = [r.getMessage() for r in caplog.records if "back end" in r.getMessage()]
    assert len(lines) == (used == "split")
    assert all("'flex'" in line and "float32" in line for line in lines)


def test_weights_that_are_elsewhere_cannot_be_checked() -> None:
    with pytest.raises(ValueError, match="not all on this process"):
        check_attention(tiny_model("meta"))
