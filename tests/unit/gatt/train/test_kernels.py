"""What is compiled before the first step, counted by a stand-in of FlexAttention that has a backward pass."""

from __future__ import annotations

import logging
import os
from typing import Any

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers.trainer_callback import TrainerCallback

from gatt.train.config import LoraSettings
from gatt.train.kernels import VARIABLE, CompileFirst, keep_kernels
from tests.support.models.first_step import ready
from tests.support.models.tiny import randomise, sample, write_samples


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Let the back end be `flex`, and return what reaches its kernels, in order."""
    events: list[tuple[Any, ...]] = []

    def dense(query: Any, key: Any, value: Any, *, block_mask: Any, scale: float, **_: Any) -> Any:
        length = query.shape[2]
        at = torch.arange(length)
        seen = block_mask.mask_mod(0, 0, at[:, None], at[None])
        # Padding sees nothing, of which softmax would make NaN.
        output = scaled_dot_product_attention(
            query, key, value, attn_mask=seen | torch.eye(length, dtype=torch.bool), scale=scale,
            enable_gqa=True,
        )  # fmt: skip
        events.append(("forward", length, output.requires_grad))
        if output.requires_grad:
            output.register_hook(lambda _: events.append(("backward", length)))
        return output

    monkeypatch.setattr("gatt.comb.attention.backend._function", lambda _: dense)
    monkeypatch.setattr("gatt.train.trainer.choose_backend", lambda *_: "flex")
    monkeypatch.setenv(VARIABLE, "kept")
    return events


def trained(config: Any, calls: list[tuple[Any, ...]], *, compiles: bool = True) -> Any:
    """Train, and return the trainer; the first step is one of the events."""
    trainer = ready(config)
    if not compiles:
        trainer.remove_callback(CompileFirst)
    randomise(trainer.model)

    class Mark(TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            calls.append(("step",))

    trainer.add_callback(Mark())
    trainer.train()
    return trainer


@pytest.mark.parametrize("plain_loss", ["targets", "kl"])
def test_every_kernel_of_a_run_is_met_before_its_first_step(
    make: Any, tmp_path: Any, caplog: Any, calls: Any, plain_loss: str
) -> None:
    path = write_samples(
        tmp_path / "mixed.jsonl", [sample(n, 1 + 3 * n, is_plain=n == 1) for n in range(4)]
    )
    config = make(
        samples=(path,), layout="comb", plain_loss=plain_loss, max_steps=4, max_length=512,
        max_tokens_per_row=512,
    )  # fmt: skip
    with caplog.at_level(logging.INFO):
        trainer = trained(config, calls)
    lengths = trainer.kernel_lengths
    assert len(lengths) > 1
    first = calls.index(("step",))
    before, after = set(calls[:first]), set(calls[first + 1 :])
    grades = (True, False) if plain_loss == "kl" else (True,)
    needed = {("forward", length, grade) for length in lengths for grade in grades}
    needed |= {("backward", length) for length in lengths}
    assert needed <= before
    assert after - {("step",)} <= needed
    # The check of the attention meets no further length either.
    assert {length for _, length, *_ in before} == set(lengths)
    lines = [r.getMessage() for r in caplog.records if "before the first step" in r.getMessage()]
    assert len(lines) == 1
    assert all(str(length) in lines[0] for length in lengths)
    assert "kept" in lines[0]


def test_nothing_is_learned_or_drawn_by_it(make: Any, tmp_path: Any, calls: Any) -> None:
    settings: dict[str, Any] = {"layout": "comb", "lora": LoraSettings(r=4, lora_dropout=0.5)}
    runs = [
        trained(make(output_dir=tmp_path / str(one), **settings), calls, compiles=one)
        for one in (True, False)
    ]
    with_it, without = (
        {name: w for name, w in run.model.named_parameters() if w.requires_grad} for run in runs
    )
    assert all(torch.equal(with_it[name], weight) for name, weight in without.items())
    for name in ("loss", "grad_norm", "num_supervised_tokens"):
        logged = [[line[name] for line in r.state.log_history if name in line] for r in runs]
        assert logged[0] == logged[1]
    assert calls.count(("step",)) == 4


def test_kernels_are_kept_where_the_user_says_or_in_the_cache(monkeypatch: Any) -> None:
    monkeypatch.setenv("GATT_CACHE", "cache")
    monkeypatch.setenv(VARIABLE, "own")
    assert keep_kernels() == "own"
    monkeypatch.delenv(VARIABLE)
    assert keep_kernels() == os.environ[VARIABLE] == os.path.join("cache", "kernels")
