"""Runs at the edge of what a model, a schedule or a template gives, and runs that go on from an adapter."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import Gemma3Config, Gemma3ForConditionalGeneration, GPT2Config, GPT2LMHeadModel

from gatt.data.training_marks import TrainedOn, read_marks, write_marks
from gatt.errors import ConfigError
from gatt.models.adapter import outside_text
from gatt.train.run import train
from gatt.train.trainer import RowTrainer
from tests.support.models.first_step import ready
from tests.support.models.tiny import CHATML, sample, save_tiny_model, tiny_tokenizer, write_samples

WEIGHTS = "adapter_model.safetensors"
DATED = "{{ 'Today: ' + strftime_now('%d %b %Y') }}" + CHATML


def weights(adapter: Path, part: str = "lora_B") -> dict[str, torch.Tensor]:
    return {n: w for n, w in load_file(adapter / WEIGHTS).items() if part in n}


def test_a_run_of_one_step_trains(make: Any) -> None:
    """A share of warm-up is rounded up, and its first step has a learning rate of zero."""
    found = train(make(max_steps=1))
    assert all(w.abs().max() > 0 for w in weights(found.adapter).values())


def test_a_padding_token_behind_the_embeddings_is_never_read(make: Any, tmp_path: Path) -> None:
    """Rows that fill the last step are made of tokens that the model has, and so is padding."""
    folder = save_tiny_model(tmp_path / "padded")
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens({"pad_token": "[PAD]"})
    tokenizer.save_pretrained(folder)
    more = {"per_device_train_batch_size": 2, "layout": "expanded"}
    assert train(make(model=str(folder), **more)).num_steps == 2


def test_rows_beyond_the_table_of_positions_are_one_line(make, tmp_path, caplog) -> None:
    tokenizer = tiny_tokenizer()
    size = len(tokenizer)
    gpt = GPT2Config(vocab_size=size, n_embd=32, n_layer=1, n_head=2, n_positions=16, n_ctx=16)
    GPT2LMHeadModel(gpt).save_pretrained(tmp_path / "gpt")
    tokenizer.save_pretrained(tmp_path / "gpt")
    with pytest.raises(ConfigError, match=r"has \d+ tokens, .* 16 positions: set max_length"):
        train(make(model=str(tmp_path / "gpt"), output_dir=tmp_path / "gpt-out"))
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
    monkeypatch.setattr("gatt.train.run.printed_day", lambda: days[-1])
    model = str(save_tiny_model(tmp_path / "dated", DATED))
    samples = (write_samples(tmp_path / "s.jsonl", [sample(n, 2) for n in range(6)]),)
    more = {"model": model, "samples": samples, "max_steps": 4, "save_steps": 1}
    whole = train(make(output_dir=tmp_path / "whole", **more))
    step, taken = RowTrainer.training_step, []

    def interrupted(self: Any, *args: Any, **kwargs: Any) -> Any:
        taken.append(1)
        if len(taken) == 3:
            raise KeyboardInterrupt
        return step(self, *args, **kwargs)

    monkeypatch.setattr(RowTrainer, "training_step", interrupted)
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


def test_dialogues_of_the_first_adapter_count_as_trained_on(make, tmp_path, caplog) -> None:
    first = train(make(learning_rate=1e-2)).adapter
    other = write_samples(tmp_path / "other.jsonl", [sample(7, 2)])

    def marks_of_second(name: str) -> TrainedOn | None:
        caplog.clear()
        config = make(output_dir=tmp_path / name, init_adapter=first, samples=(other,))
        return read_marks(train(config).adapter)

    config = make(output_dir=tmp_path / "more", init_adapter=first)
    begun, saved = dict(ready(config).model.named_parameters()), load_file(first / WEIGHTS)
    name = next(n for n in saved if "lora_B" in n)
    assert torch.equal(begun[name.replace(".weight", ".default.weight")], saved[name])
    found = marks_of_second("b")
    assert all(sample(n, 2).dialogue in found for n in (0, 1, 2, 7))
    assert found.entries == {e for n in (0, 1, 2, 7) for e in sample(n, 2).instruction.entries}
    assert not caplog.records
    (first / "trained_on.json").unlink()
    # One that knew a part would be believed to know all.
    assert marks_of_second("c") is None
    assert "does not say which dialogues it was trained on" in caplog.text
    # As it was written before there were entries.
    write_marks(first, TrainedOn.of([sample(0, 2).dialogue]))
    found = marks_of_second("d")
    assert found.entries is None
    assert sample(7, 2).dialogue in found
    assert "does not say which catalogue entries it was trained on" in caplog.text
