"""One step of an objective on two small dialogues, of random models of several architectures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from gatt.data.sample import GattSample
from gatt.train.config import LoraSettings, TrainConfig
from tests.support.models.first_step import logged, record_steps
from tests.support.models.foreign_templates import FOREIGN
from tests.support.models.tiny import randomise, tiny_run, write_samples

TOLERANCE = 2e-5
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen2": {},
    "gemma2": {"attn_logit_softcapping": 5.0, "final_logit_softcapping": 4.0, "sliding_window": 24},
}


def run_of(
    folder: Path, template: str, architecture: str, samples: Sequence[GattSample], **settings: Any
) -> TrainConfig:
    """Return the run of a random model under a template; one step takes all samples."""
    tokenizer = next(one for one in FOREIGN if one.id == template).tokenizer()
    tokenizer.save_pretrained(folder / "model")
    torch.manual_seed(0)
    config = AutoConfig.for_model(
        architecture, vocab_size=len(tokenizer), hidden_size=32, intermediate_size=48,
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
        max_position_embeddings=512, pad_token_id=0, bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id, initializer_range=0.2, **ARCHITECTURES[architecture],
    )  # fmt: skip
    AutoModelForCausalLM.from_config(config).save_pretrained(folder / "model")
    fixed = {
        "lora": LoraSettings(r=4, lora_alpha=8), "max_grad_norm": 0.0, "max_steps": 1,
        "per_device_train_batch_size": len(samples),
    }  # fmt: skip
    path = write_samples(folder / "samples.jsonl", samples)
    return tiny_run(folder / "model", path, folder / "out", **fixed | settings)


def step_of(
    trainer: Any, names: Sequence[str] = ()
) -> tuple[dict[str, float], dict[str, torch.Tensor]]:
    """Return loss and metrics of these names of the first step, and its gradients."""
    randomise(trainer.model, "lora_A", 0.2, seed=2)
    (loss,), (gradients,) = record_steps(trainer)
    return {"loss": loss, **{name: logged(trainer, name)[0] for name in names}}, gradients


def assert_same(found: Any, expected: Any) -> None:
    # A reward is the small difference of sums of some hundred nats, in float32.
    assert found[0] == pytest.approx(expected[0], rel=TOLERANCE, abs=5e-5)
    assert found[1].keys() == expected[1].keys()
    for name, gradient in expected[1].items():
        assert gradient.norm() > 0, name
        assert (found[1][name] - gradient).norm() < TOLERANCE * gradient.norm(), name
