"""An adapter fits its model wholly, or is refused in one line."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model

from gatt.errors import ModelError
from gatt.models.adapter import attach_adapter
from tests.support.hostile.files import changed
from tests.support.models.tiny import tiny_llama, tiny_tokenizer


def save(folder: Path, target: str = "q_proj", **changes: Any) -> Path:
    config = LoraConfig(task_type="CAUSAL_LM", r=2, target_modules=[target])
    model = get_peft_model(tiny_llama(tiny_tokenizer(), **changes), config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.fill_(0.5)
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("adapter"))


@pytest.fixture
def copied(adapter: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(adapter, tmp_path / "copied"))


def attach(folder: Path, model: Any = None, **options: Any) -> Any:
    base = tiny_llama(tiny_tokenizer()) if model is None else model
    return attach_adapter(base, folder, base_name="tiny", **options)


def test_two_adapters_stand_side_by_side_in_evaluation_mode(adapter: Path) -> None:
    model = attach(adapter, attach(adapter, adapter_name="a"), adapter_name="b")
    assert set(model.peft_config) == {"a", "b"}
    weights = dict(model.named_parameters())
    for name in ("a", "b"):
        place = f"base_model.model.model.layers.1.self_attn.q_proj.lora_B.{name}.weight"
        assert (weights[place] == 0.5).all()
        assert not weights[place].requires_grad


def test_a_trainable_one_is_all_that_is_trained(adapter: Path) -> None:
    model = attach(adapter, is_trainable=True)
    trained = [n for n, w in model.named_parameters() if w.requires_grad]
    assert len(trained) == 4
    assert all(".lora_" in n for n in trained)


def test_embeddings_saved_along_are_no_misfit(tmp_path: Path) -> None:
    config = LoraConfig(task_type="CAUSAL_LM", r=2, target_modules=["q_proj"])
    model = get_peft_model(tiny_llama(tiny_tokenizer()), config)
    model.save_pretrained(tmp_path, save_embedding_layers=True)
    assert set(attach(tmp_path).peft_config) == {"default"}


@pytest.mark.parametrize(
    ("file", "change", "facts"),
    [
        ("adapter_config.json", Path.unlink, ("no adapter_config.json", "gatt train")),
        ("adapter_model.safetensors", Path.unlink, ("no adapter_model.safetensors",)),
        ("adapter_model.safetensors", lambda p: p.write_bytes(p.read_bytes()[:100]), ("safetensors",)),
        ("adapter_config.json", lambda p: p.write_text("{"), ("adapter_config.json",)),
        ("adapter_config.json", lambda p: p.write_text("{}"), ("adapter_config.json", "None", "'LORA'")),
        ("adapter_config.json", changed(task_type="CHAT"), ("CHAT",)),
        ("adapter_config.json", changed(target_modules=["c_attn"]), ("tiny", "c_attn")),
        ("adapter_config.json", changed(lora_alpha=1e999), ("lora_alpha", "inf")),
    ],
)  # fmt: skip
def test_a_broken_adapter(copied: Path, file: str, change: Any, facts: tuple[str, ...]) -> None:
    change(copied / file)
    with pytest.raises(ModelError) as caught:
        attach(copied)
    said = str(caught.value)
    assert [fact for fact in ("copied", *facts) if fact not in said] == []
    assert "\n" not in said


@pytest.mark.parametrize("stands_beside_another", [False, True])
@pytest.mark.parametrize(
    ("changes", "fact"),
    [
        ({"num_hidden_layers": 3}, r"layers\.2\S+ \(2 of 6 tensors\)"),
        ({"num_hidden_layers": 1}, r"layers\.1\S+ \(2 of 4 tensors\)"),
        ({"hidden_size": 64}, "size "),
    ],
)
def test_an_adapter_of_another_model(
    adapter: Path, tmp_path: Path, changes: dict[str, int], fact: str, stands_beside_another: bool
) -> None:
    folder = save(tmp_path / "other", **changes)
    model = attach(adapter, adapter_name="first") if stands_beside_another else None
    with pytest.raises(ModelError, match=rf"other: [^\n]*tiny: [^\n]*{fact}"):
        attach(folder, model, adapter_name="second")
