"""Settings that model or device cannot take, and the attention of plain and packed rows."""

from __future__ import annotations

import importlib.util
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from trl import SFTConfig

from gatt.commands.export.command import ExportConfig
from gatt.commands.export.write import export
from gatt.data.dialogue import Message
from gatt.errors import ConfigError, ModelError, StoreError, TemplateError, TrainingError
from gatt.generation.config import EngineConfig, local_engine
from gatt.models.chat_template import render
from gatt.models.load import load_model, load_tokenizer
from gatt.models.template_variables import read_variables
from gatt.train.arguments import training_arguments
from gatt.train.config import LoraSettings
from gatt.train.run import train
from tests.support.models.first_step import ready
from tests.support.models.tiny import CHATML, sample, save_tiny_model, write_samples

REASONING = CHATML.replace(
    "assistant\n' }}{% endif %}",
    "assistant\n' + ('' if enable_thinking is defined and not enable_thinking else '<think>\n') }}{% endif %}",
)
"""Its generation prompt opens reasoning unless it is told not to."""


def test_eager_attention_trains_plain_rows_and_packed_rows_have_their_own(make, tmp_path) -> None:
    trainer = ready(make(attn_implementation="eager"))
    assert trainer.model.config._attn_implementation == "eager"
    assert trainer.train().global_step == 2
    other = ready(make(attn_implementation="sdpa", output_dir=tmp_path / "packed"))
    assert other.model.config._attn_implementation == "gatt_comb"


def test_several_gpus_for_one_process_are_refused_before_a_model_is_loaded(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What transformers finds with two visible GPUs and no launcher.
    monkeypatch.setattr(SFTConfig, "n_gpu", 2)
    with pytest.raises(ConfigError, match=r"one process sees 2 GPUs.*`accelerate launch`"):
        training_arguments(make())


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"lora": LoraSettings(target_modules=("no",))}, ConfigError, "the adapter does not fit"),
        ({"lora": LoraSettings(target_modules="q_proj")}, ConfigError, "the adapter does not fit"),
        ({"lr_scheduler_type": "sometimes"}, ConfigError, "are refused: sometimes is not"),
        # It needs more than its name.
        ({"lr_scheduler_type": "warmup_stable_decay"}, ConfigError, "are refused"),
        ({"bf16": True}, ConfigError, "bf16 is true, but this device has no bfloat16"),
        ({"attn_implementation": "flex_attention"}, ConfigError, "it trains on CUDA only"),
        ({"report_to": "tensorbord"}, ConfigError, "tensorbord is not supported"),
        ({"report_to": ("tensorboard", "none")}, ConfigError, "none is not supported"),
        ({"load_in_4bit": True}, ModelError, r"load_in_4bit.*ghost-attention\[qlora\]"),
    ],
)
def test_what_a_library_or_the_device_refuses(make, monkeypatch, changes, error, message) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "bitsandbytes" else find(name)
    )
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    monkeypatch.setattr("gatt.train.arguments.multiplies_bfloat16", lambda: False)
    with pytest.raises(error, match=message):
        train(make(**changes))
    assert not (make().output_dir / "rows").exists() or "lora" in changes


def test_a_cpu_with_instructions_for_bfloat16_trains_in_it(make, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("gatt.train.arguments.multiplies_bfloat16", lambda: True)
    assert not training_arguments(make()).bf16
    plain, rounded = ready(make(output_dir=tmp_path / "plain")), ready(make(bf16=True))
    assert rounded.args.device.type == "cpu"
    losses = [trainer.train().training_loss for trainer in (plain, rounded)]
    assert losses[0] != losses[1] == pytest.approx(losses[0], rel=0.02)


def test_what_costs_the_targets_is_said_before_a_model_is_loaded(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No template, a prompt that opens reasoning, with what to set; and more than half of them lost."""
    monkeypatch.setattr("gatt.train.run.load_model", None)
    with pytest.raises(TemplateError, match="the tokenizer has no chat template"):
        train(make(model=str(save_tiny_model(tmp_path / "bare", None))))
    folder = save_tiny_model(tmp_path / "thinks", REASONING)
    with pytest.raises(TemplateError) as refused:
        train(make(model=str(folder)))
    assert "chat_template_kwargs: {enable_thinking: false}" in str(refused.value)
    assert repr("<think>\n") in str(refused.value)
    bad = [sample(n, 1, targets=["Oui <|im_end|>."]) for n in (1, 2)]
    write_samples(make().samples[0], [sample(0, 1), *bad])
    with pytest.raises(TrainingError, match="2 of 3 targets would be lost"):
        train(make())


def test_variables_of_the_template_are_set_recorded_and_part_of_the_run(
    make: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = save_tiny_model(tmp_path / "thinks", REASONING)
    config = make(model=str(folder), chat_template_kwargs={"enable_thinking": False})
    adapter = train(config).adapter
    assert read_variables(adapter) == {"enable_thinking": False}
    card = (adapter / "README.md").read_text(encoding="utf-8")
    assert '| chat_template_kwargs | {"enable_thinking": false} |' in card
    record = json.loads((config.output_dir / "train.json").read_text(encoding="utf-8"))
    assert record["config"]["chat_template_kwargs"] == {"enable_thinking": False}
    with pytest.raises(TemplateError, match="no variable 'enable_thinking'"):
        train(make(chat_template_kwargs={"enable_thinking": False}))
    with pytest.raises(StoreError, match=r"chat_template_kwargs\.enable_thinking False.*True"):
        train(replace(config, chat_template_kwargs={"enable_thinking": True}))
    # What uses the adapter is told where it does not set the same.
    engine = EngineConfig(model=str(folder), device="cpu")
    for used, is_told in (({}, True), ({"enable_thinking": False}, False)):
        caplog.clear()
        local_engine(replace(engine, chat_template_kwargs=used), {"gatt": adapter})
        assert ("was trained with chat_template_kwargs" in caplog.text) == is_told
    export(ExportConfig(adapter=adapter, output_dir=tmp_path / "served"))
    served = load_tokenizer(str(tmp_path / "served"))
    assert render(served, (Message("user", "hello"),), True).endswith("assistant\n")


def infinite_slope(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    # sqrt is 0 at 0 and its slope infinite.
    return (logits - logits.detach()).square().sum().sqrt()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (lambda logits, _: logits.sum() * math.nan, r"loss is nan: lower learning_rate \(now 0\.0002"),
        (infinite_slope, "gradient norm is"),
    ],
)  # fmt: skip
def test_what_is_no_number_stops_before_the_step(make, monkeypatch, loss, message) -> None:
    trainer = ready(make())
    before = {n: w.clone() for n, w in trainer.model.named_parameters() if w.requires_grad}
    monkeypatch.setattr("gatt.comb.objectives.base.cross_entropy", loss)
    with pytest.raises(TrainingError, match=f"step 1: the {message}"):
        trainer.train()
    for name, weight in trainer.model.named_parameters():
        if name in before:
            assert torch.equal(weight, before[name])


def test_an_adapter_without_a_base_to_hold_to(make: Any, tmp_path: Path) -> None:
    model = load_model(make().model).model
    lora = LoraConfig(task_type="CAUSAL_LM", target_modules="all-linear", bias="lora_only")
    get_peft_model(model, lora).save_pretrained(tmp_path / "biased")
    config = make(plain_loss="kl", init_adapter=tmp_path / "biased")
    write_samples(config.samples[0], [sample(1), sample(2, is_plain=True)])
    with pytest.raises(ConfigError, match="the first adapter has biases of its own"):
        train(config)
