"""What must be the same through the Trainer: batching, packing, resuming."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from gatt.comb.collator import GattCollator, combs_to_features
from gatt.comb.comb import IGNORE, Comb, expand
from gatt.comb.loss import supervised_logits
from gatt.comb.objectives.kl import kl
from gatt.models.load import load_adapter, load_model
from gatt.train.config import LoraSettings, TrainConfig
from gatt.train.run import train
from gatt.train.trainer import RowTrainer
from tests.support.models.combs import combs_of
from tests.support.models.first_step import ready, record_steps
from tests.support.models.tiny import randomise, sample, save_tiny_model, tiny_run, write_samples

TOLERANCE = 1e-5


@pytest.fixture
def make_config(tmp_path: Path) -> Any:
    save_tiny_model(tmp_path / "model")
    # Of unequal length, with gaps, one turn alone, and one without an instruction.
    samples = [
        sample(1, 3),
        sample(2, 1),
        sample(3, 4, targets=["Oui, la mer.", None, "Non, jamais la mer.", "Bon."]),
        sample(4, 2, is_plain=True),
    ]
    path = write_samples(tmp_path / "samples.jsonl", samples)

    def make(name: str, **changes: Any) -> TrainConfig:
        fixed = {"max_grad_norm": 0.0, "max_steps": 1, "gradient_accumulation_steps": 8}
        return replace(tiny_run(tmp_path / "model", path, tmp_path / name), **fixed | changes)

    return make


def first_step(config: TrainConfig) -> tuple[float, dict[str, torch.Tensor]]:
    trainer = ready(config)
    losses, gradients = record_steps(trainer)
    return losses[0], gradients[0]


def assert_same(
    found: tuple[float, dict[str, torch.Tensor]], expected: tuple[float, dict[str, torch.Tensor]]
) -> None:
    assert found[0] == pytest.approx(expected[0], rel=TOLERANCE)
    assert found[1].keys() == expected[1].keys()
    for name, gradient in expected[1].items():
        assert gradient.norm() > 0, name
        error = (found[1][name] - gradient).norm() / gradient.norm()
        assert error < TOLERANCE, name


@pytest.mark.parametrize("layout", ["comb", "expanded"])
def test_accumulated_equals_batched(make_config: Any, layout: str) -> None:
    num_rows = {"comb": 4, "expanded": 9}[layout]
    batched = make_config(
        "batched",
        layout=layout,
        per_device_train_batch_size=num_rows,
        gradient_accumulation_steps=1,
    )
    accumulated = make_config(
        "accumulated",
        layout=layout,
        per_device_train_batch_size=1,
        gradient_accumulation_steps=num_rows,
    )
    assert_same(first_step(accumulated), first_step(batched))


@pytest.mark.parametrize("supervise", ["last_turn", "all_turns", "context_only"])
def test_comb_equals_expanded(make_config: Any, supervise: str) -> None:
    comb = make_config("comb", layout="comb", supervise=supervise, gradient_accumulation_steps=4)
    # One step takes all rows, whatever their number: 12 is enough for 9 targets and 3 contexts.
    expanded = make_config(
        "expanded", layout="expanded", supervise=supervise, gradient_accumulation_steps=12
    )
    assert_same(first_step(comb), first_step(expanded))


@pytest.mark.parametrize("history", ["sampled", "mixed"])
def test_sampled_history_equals_its_expanded_rows(make_config: Any, history: str) -> None:
    """The fast path, one plain sequence a dialogue, against one row a target."""
    comb = make_config("comb", layout="comb", history=history, gradient_accumulation_steps=4)
    expanded = make_config(
        "expanded", layout="expanded", history=history, gradient_accumulation_steps=9
    )
    assert_same(first_step(comb), first_step(expanded))


def test_filled_and_cut_rows_equal_one_row_a_dialogue(make_config: Any) -> None:
    single = first_step(make_config("single", gradient_accumulation_steps=4))
    sizes = {"max_length": 300, "max_tokens_per_row": 320}
    filled = make_config("filled", pack_rows=True, gradient_accumulation_steps=4, **sizes)
    cut = make_config("cut", gradient_accumulation_steps=8, **sizes)
    assert_same(first_step(filled), single)
    assert_same(first_step(cut), single)


def as_kl(comb: Comb) -> Comb:
    branches = tuple(replace(branch, objective="kl") for branch in comb.branches)
    return replace(comb, branches=branches, objective="kl")


def test_gradient_checkpointing_changes_nothing(make_config: Any) -> None:
    plain = make_config("plain", gradient_accumulation_steps=4)
    recomputed = make_config("again", gradient_accumulation_steps=4, gradient_checkpointing=True)
    assert_same(first_step(recomputed), first_step(plain))


@pytest.mark.parametrize("history", ["reference", "sampled"])
@pytest.mark.parametrize(
    "changes",
    [
        # One step takes all rows: nine targets, and the plain dialogue's own reply where that is the history.
        {"layout": "expanded", "gradient_accumulation_steps": 10},
        {"layout": "expanded", "per_device_train_batch_size": 10},
        {"pack_rows": True},
        {"per_device_train_batch_size": 4},
        {"gradient_accumulation_steps": 4, "gradient_checkpointing": True},
    ],
)
def test_kl_is_the_same_in_all_layouts(make_config, history, changes) -> None:
    settings: dict[str, Any] = {"plain_loss": "kl", "plain_kl_coef": 3.0, "history": history}
    one_each = make_config("comb", layout="comb", gradient_accumulation_steps=4, **settings)
    other = make_config("other", **{"gradient_accumulation_steps": 1, **settings, **changes})
    assert_same(first_step(other), first_step(one_each))


def test_kl_by_hand(make_config: Any) -> None:
    """The mean over all supervised tokens: cross-entropy of the others, KL of the plain dialogue's."""
    settings: dict[str, Any] = {"gradient_accumulation_steps": 4, "layout": "comb"}
    config = make_config("kl", plain_loss="kl", plain_kl_coef=2.0, **settings)
    trainer = ready(config)
    randomise(trainer.model)
    total, num = 0.0, 0
    for row in trainer.train_dataset:
        (comb,) = combs_of(row)
        for plain in expand(comb):
            ids = torch.tensor([plain.trunk])
            labels = torch.tensor(plain.trunk_labels)[1:]
            is_there = labels != IGNORE
            with torch.no_grad():
                own = trainer.model(ids).logits[0, :-1].log_softmax(-1)[is_there]
                with trainer.model.disable_adapter():
                    base = trainer.model(ids).logits[0, :-1].log_softmax(-1)[is_there]
            if plain.objective == "kl":
                total += 2.0 * float((base.exp() * (base - own)).sum())
            else:
                total -= float(own.gather(1, labels[is_there][:, None]).sum())
            num += int(is_there.sum())
    loss, _ = first_step(config)
    assert loss == pytest.approx(total / num, rel=TOLERANCE)


def test_kl_keeps_a_plain_dialogue_as_it_was(make_config: Any) -> None:
    """Taught its targets instead, the model soon says something else there."""

    def divergence(plain_loss: str) -> float:
        config = make_config(
            plain_loss, plain_loss=plain_loss, plain_kl_coef=100.0, max_steps=60, learning_rate=1e-2,
            gradient_accumulation_steps=4,
        )  # fmt: skip
        trainer = ready(config)
        trainer.train()
        # The last is the plain one.
        comb = as_kl(combs_of(trainer.train_dataset[3])[0])
        batch = GattCollator(0)([combs_to_features([comb])])
        with torch.no_grad():
            own, _ = supervised_logits(trainer.model, batch)
            with trainer.model.disable_adapter():
                base, labels = supervised_logits(trainer.model, batch)
        return float(kl(base, own)) / len(labels)

    assert divergence("kl") < 0.1 * divergence("targets")


def test_the_divergence_is_logged(make_config: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="gatt")
    config = make_config("logged", plain_loss="kl", max_steps=3, learning_rate=1e-2)
    train(config)
    state = json.loads((config.output_dir / "checkpoint-3" / "trainer_state.json").read_text())
    logged = [line["plain_kl"] for line in state["log_history"] if "plain_kl" in line]
    # A fresh adapter changes nothing: no divergence in the first step, some in the last.
    assert logged[0] == pytest.approx(0, abs=1e-9)
    assert logged[-1] > 1e-6
    assert "  plain_kl 0.000  " in caplog.text


def interrupt_at(monkeypatch: pytest.MonkeyPatch, micro_batch: int) -> None:
    calls = 0
    original = RowTrainer.training_step

    def training_step(self: RowTrainer, *args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > micro_batch:
            raise KeyboardInterrupt
        return original(self, *args, **kwargs)

    monkeypatch.setattr(RowTrainer, "training_step", training_step)


@pytest.mark.parametrize("load_in_4bit", [False, True])
def test_resumed_equals_uninterrupted_to_the_bit(make_config, monkeypatch, load_in_4bit) -> None:
    settings: dict[str, Any] = {
        "max_steps": 7,
        "gradient_accumulation_steps": 2,
        "save_steps": 1,
        "max_grad_norm": 1.0,
        "learning_rate": 1e-2,
        # Dropout makes the state of the random generator count.
        "lora": LoraSettings(r=4, lora_alpha=8, lora_dropout=0.3),
        # And so does the other forward pass, which must not move it.
        "plain_loss": "kl",
        "load_in_4bit": load_in_4bit,
    }
    straight = train(make_config("straight", **settings))
    config = make_config("resumed", **settings)
    # Within the accumulation of step 4 (in the middle of an epoch), then again in step 6.
    for micro_batch in (7, 3):
        with monkeypatch.context() as patch:
            interrupt_at(patch, micro_batch)
            with pytest.raises(KeyboardInterrupt):
                train(config)
        assert not (config.output_dir / "adapter").exists()
    resumed = train(config)
    name = "adapter_model.safetensors"
    assert (resumed.adapter / name).read_bytes() == (straight.adapter / name).read_bytes()
    # Else a resume that throws the adapter away would not be seen.
    before = straight.output_dir / "checkpoint-6" / name
    assert before.read_bytes() != (straight.adapter / name).read_bytes()
    assert resumed.num_supervised_tokens == straight.num_supervised_tokens > 0
    assert resumed.num_steps == straight.num_steps == 7


def dequantised(folder: Path, target: Path) -> Any:
    """Save the model with each weight as its 4 bits say; return the model in 4 bits."""
    functional = pytest.importorskip("bitsandbytes.functional")
    quantised = load_model(str(folder), load_in_4bit=True)
    plain = load_model(str(folder))
    for name, module in quantised.model.named_modules():
        if (state := getattr(getattr(module, "weight", None), "quant_state", None)) is not None:
            weight = plain.model.get_submodule(name).weight
            wide = functional.dequantize_4bit(module.weight.data, state)
            assert not torch.equal(weight, wide)
            weight.data = wide
    for part in (plain.model, plain.tokenizer):
        part.save_pretrained(target)
    return quantised


@pytest.mark.parametrize("layout", ["comb", "expanded"])
def test_four_bits_equal_the_weights_that_they_stand_for(make_config, tmp_path, layout) -> None:
    """The type of the run is float32: each weight is what its 4 bits say, to the last digit."""
    dequantised(tmp_path / "model", tmp_path / "wide")
    settings = {"layout": layout, "plain_loss": "kl", "gradient_accumulation_steps": 10}
    wide = first_step(make_config("plain", model=str(tmp_path / "wide"), **settings))
    assert_same(first_step(make_config("quantised", load_in_4bit=True, **settings)), wide)


def test_an_adapter_of_four_bits_fits_the_plain_model(make_config: Any, tmp_path: Path) -> None:
    quantised = dequantised(tmp_path / "model", tmp_path / "wide")
    folder = train(make_config("trained", load_in_4bit=True, max_steps=3)).adapter
    ids = torch.arange(2, 40)[None]
    narrow, wide, plain = (
        load_adapter(model, folder, "trained").model(ids).logits
        for model in (
            quantised, load_model(str(tmp_path / "wide")), load_model(str(tmp_path / "model"))
        )
    )  # fmt: skip
    torch.testing.assert_close(narrow, wide, rtol=TOLERANCE, atol=TOLERANCE)
    # The plain model is another one, by as much as 4 bits round.
    assert (plain - wide).norm() < 0.3 * wide.norm()
