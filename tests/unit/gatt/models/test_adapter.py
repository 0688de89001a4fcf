"""An adapter fits its model wholly, or is refused in one line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model

from gatt.errors import ModelError
from gatt.models.adapter import attach_adapter, one_line
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


@pytest.mark.parametrize("name", ["adapter_config.json", "adapter_model.safetensors"])
def test_a_folder_without_one_of_its_files(copied: Path, name: str) -> None:
    (copied / name).unlink()
    with pytest.raises(ModelError, match=rf"copied: no {name}: expected a folder saved by `gatt"):
        attach(copied)


def test_weights_that_a_copy_tore(copied: Path) -> None:
    path = copied / "adapter_model.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(
        ModelError, match=r"safetensors: cannot be read \(.*\): copy or train the adapter again$"
    ):
        attach(copied)


@pytest.mark.parametrize("text", ["{", "{}", '{"peft_type": "LORA", "task_type": "CHAT"}'])
def test_settings_that_are_none(copied: Path, text: str) -> None:
    (copied / "adapter_config.json").write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=r"^[^\n]*copied[^\n]*: (not the settings|the adapter)"):
        attach(copied)


def test_the_settings_are_named_where_they_are_broken(copied: Path) -> None:
    (copied / "adapter_config.json").write_text("{", encoding="utf-8")
    with pytest.raises(
        ModelError, match=r"adapter_config\.json: not the settings of an adapter \("
    ):
        attach(copied)


def test_an_adapter_of_a_wider_model(tmp_path: Path) -> None:
    folder = save(tmp_path / "wide", hidden_size=64)
    with pytest.raises(ModelError, match=r"^[^\n]*wide: the adapter does not fit tiny: .*size "):
        attach(folder)


def test_modules_that_the_model_does_not_have(copied: Path) -> None:
    path = copied / "adapter_config.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**settings, "target_modules": ["c_attn"]}), encoding="utf-8")
    with pytest.raises(ModelError, match=r"the adapter does not fit tiny: .*c_attn"):
        attach(copied)


@pytest.mark.parametrize("stands_beside_another", [False, True])
@pytest.mark.parametrize(
    ("num_layers", "problem"),
    [
        (3, r"no place in it for \S+layers\.2\S+ \(2 of 6 tensors\): use the model it was trained"),
        (1, r"nothing saved for \S+layers\.1\S+ \(2 of 4 tensors\): use the model it was trained"),
    ],
)
def test_an_adapter_of_a_deeper_or_shallower_model(
    adapter: Path, tmp_path: Path, num_layers: int, problem: str, stands_beside_another: bool
) -> None:
    folder = save(tmp_path / "other", num_hidden_layers=num_layers)
    model = attach(adapter, adapter_name="first") if stands_beside_another else None
    with pytest.raises(ModelError, match=rf"other: the adapter does not fit tiny: {problem}"):
        attach(folder, model, adapter_name="second")


def test_what_a_library_says_becomes_one_short_line() -> None:
    assert one_line(ValueError("a\n  b")) == "a b"
    assert one_line(KeyError()) == "KeyError"
    long = one_line(ValueError("word " * 100))
    assert len(long) <= 302
    assert long.endswith(" …")
