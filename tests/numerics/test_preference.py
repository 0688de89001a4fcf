"""`objective: preference` against TRL's `DPOTrainer` on the rows that `gatt rows` writes."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM
from trl import DPOConfig, DPOTrainer

from gatt.cli import main
from gatt.comb.objectives.table import Objectives
from gatt.train.config import PreferenceSettings, TrainConfig
from tests.support.models import objective_steps
from tests.support.models.first_step import logged, ready
from tests.support.models.objective_steps import assert_same
from tests.support.models.tiny import randomise, sample

REJECTED = (
    ("Non.", "I am an AI and cannot say what the sea is like.", None, "Oui !"),
    ("As I said: it is quiet.", "Bof.", "Where?"),
)
"""Of two dialogues, by turn. The third turn of each lacks one side."""


def samples() -> list[Any]:
    found = [sample(1, 4), sample(2, 3, targets=["Bonjour.", "Oui, la mer est calme.", None])]
    return [
        replace(
            one,
            targets=tuple(
                replace(t, rejected=r) for t, r in zip(one.targets, rejected, strict=True)
            ),
        )
        for one, rejected in zip(found, REJECTED, strict=True)
    ]


NUM_PAIRS = 5


def run_of(folder: Path, template: str, architecture: str, **settings: Any) -> TrainConfig:
    """Return the run of a random model under a template; one step takes all pairs."""
    return objective_steps.run_of(
        folder, template, architecture, samples(), objective="preference", **settings
    )


def step_of(trainer: Any) -> tuple[dict[str, float], dict[str, torch.Tensor]]:
    """Return what the first step logs, and its gradients."""
    names = ("chosen", "rejected", "accuracies", "margins")
    return objective_steps.step_of(trainer, [f"rewards/{name}" for name in names])


def step_of_trl(folder: Path, config: TrainConfig) -> tuple[dict[str, float], Any]:
    output = folder / "rows.jsonl"
    words = [f"--model={config.model}", f"--output={output}", "--format=trl-dpo"]
    assert main(["rows", str(config.samples[0]), *words]) == 0
    rows = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
    assert len(rows) == NUM_PAIRS
    from gatt.models.load import load_tokenizer

    tokenizer = load_tokenizer(config.model)
    template = output.with_suffix(".jinja")
    if template.exists():
        tokenizer.chat_template = template.read_text("utf-8")
    settings = config.preference
    model = AutoModelForCausalLM.from_pretrained(config.model, dtype="float32")
    fresh = None
    if config.init_adapter:
        model = PeftModel.from_pretrained(model, str(config.init_adapter), is_trainable=True)
    else:
        fresh = LoraConfig(task_type="CAUSAL_LM", r=4, lora_alpha=8, target_modules="all-linear")
    trainer = DPOTrainer(
        model,
        args=DPOConfig(
            output_dir=str(folder / "trl"), beta=settings.beta, loss_type=list(settings.loss_type),
            loss_weights=settings.loss_weights and list(settings.loss_weights), max_length=None,
            per_device_train_batch_size=NUM_PAIRS, max_steps=1, logging_steps=1, max_grad_norm=0.0,
            report_to="none", use_cpu=True, bf16=False, gradient_checkpointing=False,
            disable_tqdm=True, save_strategy="no",
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=fresh,
    )  # fmt: skip
    return step_of(trainer)


def save_first_adapter(folder: Path, config: TrainConfig) -> Path:
    """Write an adapter that changes what the model says."""
    base = AutoModelForCausalLM.from_pretrained(config.model, dtype="float32")
    settings = LoraConfig(task_type="CAUSAL_LM", r=4, lora_alpha=8, target_modules="all-linear")
    model = get_peft_model(base, settings)
    randomise(model, "lora_", 0.2, seed=7)
    model.save_pretrained(folder)
    return folder


RPO = PreferenceSettings(beta=0.2, loss_type=("sigmoid", "sft"), loss_weights=(1.0, 0.3))


@pytest.mark.parametrize(
    ("template", "architecture", "settings"),
    [
        ("qwen2_5", "qwen2", PreferenceSettings(beta=0.3)),
        ("llama3", "llama", PreferenceSettings(loss_type=("sigmoid_norm",), beta=2.0)),
        ("gemma", "gemma2", PreferenceSettings(beta=0.1)),
        ("smollm3", "llama", RPO),
        ("phi3", "gemma2", RPO),
    ],
)
def test_equal_to_trl_s_dpo_on_the_rows(template, architecture, settings, tmp_path) -> None:
    config = run_of(tmp_path, template, architecture, preference=settings)
    expected = step_of_trl(tmp_path, config)
    trainer = ready(config)
    assert_same(step_of(trainer), expected)
    assert abs(expected[0]["rewards/margins"]) > 1e-3


def test_equal_to_trl_s_dpo_from_the_adapter_that_training_starts_from(tmp_path: Path) -> None:
    settings = PreferenceSettings(beta=0.3, reference="init_adapter")
    first = save_first_adapter(tmp_path / "first", run_of(tmp_path, "qwen2_5", "qwen2"))
    config = run_of(tmp_path, "qwen2_5", "qwen2", preference=settings, init_adapter=first)
    expected = step_of_trl(tmp_path, config)
    assert_same(step_of(ready(config)), expected)
    assert abs(expected[0]["rewards/margins"]) > 1e-3
    # Nothing has moved yet: every pair costs ln 2. Compared with the base model it would not.
    loss = {}
    for reference in ("init_adapter", "base"):
        changed: Any = {"preference": replace(settings, reference=reference)}
        trainer = ready(replace(config, output_dir=tmp_path / reference, **changed))
        trainer.train()
        loss[reference] = logged(trainer, "loss")[0]
    assert loss["init_adapter"] == pytest.approx(math.log(2), abs=1e-6)
    assert abs(loss["base"] - math.log(2)) > 1e-3


@pytest.mark.parametrize(
    "changes",
    [
        {"layout": "expanded", "gradient_accumulation_steps": 3},
        {"pack_rows": True, "per_device_train_batch_size": 1},
        {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 2},
        {"history": "sampled"},
        # Rows of a pair or two.
        {"max_length": 310, "max_tokens_per_row": 310, "gradient_accumulation_steps": 4},
    ],
)
def test_the_same_however_it_is_laid_out(changes, tmp_path, monkeypatch) -> None:
    """With pieces of five tokens, which part every reply, against all at once."""
    kept = {key: changes[key] for key in changes if key == "history"}
    expected = step_of(ready(run_of(tmp_path, "qwen2_5", "llama", preference=RPO, **kept)))
    config = run_of(tmp_path, "qwen2_5", "llama", preference=RPO, **changes)
    monkeypatch.setattr("gatt.comb.objectives.base.PIECE", 5 * 400)
    trainer = ready(replace(config, output_dir=tmp_path / "other"))
    assert_same(step_of(trainer), expected)


def test_a_turn_without_one_side_gives_none_and_is_counted(tmp_path: Path) -> None:
    from gatt.train.data.rows import build_rows
    from tests.support.models.tiny import tiny_tokenizer

    config = run_of(tmp_path, "qwen2_5", "llama")
    lone = sample(3, 1)
    rows, report = build_rows(
        [*samples(), lone], tiny_tokenizer(), config, why_not_packable=lambda: None
    )
    assert report.num_targets == NUM_PAIRS
    assert report.num_encoded == report.num_wanted == NUM_PAIRS
    assert sorted(report.dropped.values()) == [1, 1, 1]
    assert set(report.objectives) == {"preference"}
    trainer = ready(config)
    batches = [trainer.data_collator([row]) for row in trainer.train_dataset]
    assert [Objectives.of(config).units(batch).pairs for batch in batches] == [3, 2]
    assert len(rows) == 2
