"""Runs at the edge of what a model, a schedule or a template gives: few steps, few positions, another day."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import (
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    GPT2Config,
    GPT2LMHeadModel,
    OPTConfig,
    OPTForCausalLM,
)

from gatt.errors import ConfigError
from gatt.models.adapter import outside_text
from gatt.train.run import train
from gatt.train.trainer import GattTrainer
from tests.support.models.tiny import CHATML, sample, save_tiny_model, tiny_tokenizer, write_samples

WEIGHTS = "adapter_model.safetensors"
DATED = "{{ 'Today: ' + strftime_now('%d %b %Y') }}" + CHATML


def weights(adapter: Path, part: str = "lora_B") -> dict[str, torch.Tensor]:
    return {n: w for n, w in load_file(adapter / WEIGHTS).items() if part in n}


def test_a_run_of_one_step_trains(make: Any) -> None:
    """A share of warm-up is rounded up, and its first step has a learning rate of zero."""
    found = train(make(max_steps=1))
    assert all(w.abs().max() > 0 for w in weights(found.adapter).values())


def test_a_schedule_that_needs_more_than_its_name_is_refused(make: Any) -> None:
    for name in ("warmup_stable_decay", "polynomial_of_nobody"):
        with pytest.raises(ConfigError, match="the training settings are refused"):
            train(make(lr_scheduler_type=name))
    assert not make().output_dir.exists()


def test_a_padding_token_behind_the_embeddings_is_never_read(make: Any, tmp_path: Path) -> None:
    """Rows that fill the last step are made of tokens that the model has, and so is padding."""
    folder = save_tiny_model(tmp_path / "padded")
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens({"pad_token": "[PAD]"})
    tokenizer.save_pretrained(folder)
    more = {"per_device_train_batch_size": 2, "layout": "expanded"}
    assert train(make(model=str(folder), **more)).num_steps == 2


def test_rows_beyond_the_table_of_positions_are_one_line(
    make: Any, tmp_path: Path, caplog: Any
) -> None:
    tokenizer = tiny_tokenizer()
    size = len(tokenizer)
    gpt = GPT2Config(vocab_size=size, n_embd=32, n_layer=1, n_head=2, n_positions=16, n_ctx=16)
    opt = OPTConfig(
        vocab_size=size, hidden_size=32, word_embed_proj_dim=32, ffn_dim=32, num_hidden_layers=1,
        num_attention_heads=2, max_position_embeddings=16,
    )  # fmt: skip
    for name, model in {"gpt": GPT2LMHeadModel(gpt), "opt": OPTForCausalLM(opt)}.items():
        model.save_pretrained(tmp_path / name)
        tokenizer.save_pretrained(tmp_path / name)
        with pytest.raises(ConfigError, match=r"has \d+ tokens, .* 16 positions: set max_length"):
            train(make(model=str(tmp_path / name), output_dir=tmp_path / f"{name}-out"))
    rotary = save_tiny_model(tmp_path / "rotary", max_position_embeddings=16)
    assert train(make(model=str(rotary))).num_steps == 2
    assert "it was not made for more; set max_length to 16 or less" in caplog.text


def test_all_linear_layers_are_those_that_text_reaches(make: Any, tmp_path: Path) -> None:
    """Adapted, a vision tower gets no gradient, for which several processes would wait in vain."""
    tokenizer = tiny_tokenizer()
    text = {
        "vocab_size": len(tokenizer), "hidden_size": 16, "intermediate_size": 16, "head_dim": 8,
        "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
    }  # fmt: skip
    vision = {
        "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "image_size": 28, "patch_size": 14,
    }  # fmt: skip
    model = Gemma3ForConditionalGeneration(
        Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=4)
    )
    assert all("vision" in name or "projector" in name for name in outside_text(model))
    assert outside_text(model)
    model.save_pretrained(tmp_path / "seeing")
    tokenizer.save_pretrained(tmp_path / "seeing")
    trained = weights(train(make(model=str(tmp_path / "seeing"))).adapter)
    assert trained
    assert all(w.abs().max() > 0 for w in trained.values())
    assert not [name for name in trained if "vision" in name]


def test_a_run_that_goes_on_tomorrow_has_the_date_of_its_first_day(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = [date(2026, 1, 30)]
    monkeypatch.setattr("gatt.train.run._today", lambda: days[-1])
    model = str(save_tiny_model(tmp_path / "dated", DATED))
    samples = (write_samples(tmp_path / "s.jsonl", [sample(n, 2) for n in range(6)]),)
    more = {"model": model, "samples": samples, "max_steps": 4, "save_steps": 1}
    whole = train(make(output_dir=tmp_path / "whole", **more))
    step, taken = GattTrainer.training_step, []

    def interrupted(self: Any, *args: Any, **kwargs: Any) -> Any:
        taken.append(1)
        if len(taken) == 3:
            raise KeyboardInterrupt
        return step(self, *args, **kwargs)

    monkeypatch.setattr(GattTrainer, "training_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(make(**more))
    days.append(date(2026, 1, 31))
    resumed = train(make(**more))
    assert (resumed.adapter / WEIGHTS).read_bytes() == (whole.adapter / WEIGHTS).read_bytes()
    record = json.loads((make().output_dir / "train.json").read_text(encoding="utf-8"))
    assert record["day"] == "2026-01-30"
    # It does count which day it is.
    other = train(make(output_dir=tmp_path / "other", **more))
    assert (other.adapter / WEIGHTS).read_bytes() != (whole.adapter / WEIGHTS).read_bytes()
