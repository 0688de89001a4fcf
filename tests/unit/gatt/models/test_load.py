"""What can be loaded, and one line for everything that cannot."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer

from gatt.errors import ModelError
from gatt.models.load import load_model, load_tokenizer, resolve
from gatt.models.packaged import EMBEDDED
from tests.support.hostile.files import changed
from tests.support.models.tiny import save_tiny_model


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def copied(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "copied"))


def refused(call: Callable[[], Any], *facts: str) -> None:
    with pytest.raises(ModelError) as caught:
        call()
    said = str(caught.value)
    assert [fact for fact in facts if fact not in said] == []
    assert "\n" not in said


def test_a_folder_becomes_a_model_in_evaluation_mode(saved: Path) -> None:
    loaded = load_model(str(saved))
    assert loaded.name == str(saved)
    assert not loaded.model.training
    assert {w.dtype for w in loaded.model.parameters()} == {torch.float32}
    assert loaded.tokenizer.pad_token == "<|endoftext|>"
    assert load_model(str(saved), dtype="bfloat16").model.dtype == torch.bfloat16


def test_a_tokenizer_without_padding_token_gets_one(copied: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(copied)
    tokenizer.pad_token = None
    tokenizer.save_pretrained(copied)
    assert load_tokenizer(str(copied)).pad_token == "<|im_end|>"


def test_names_are_folders_or_hub_ids(copied: Path, tmp_path: Path, monkeypatch) -> None:
    assert resolve(str(copied)) == str(copied)
    assert resolve("owner/model-0.5B") == "owner/model-0.5B"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve("~/copied") == str(copied)
    (tmp_path / "model.bin").write_bytes(b"GGUF")
    for name in ("gone", "not/there/either", "model.bin"):
        refused(lambda name=name: load_model(str(tmp_path / name)), name)


@pytest.mark.parametrize(
    ("file", "change", "facts"),
    [
        ("config.json", Path.unlink, ("config.json",)),
        ("config.json", lambda p: p.write_text("{"), ("tokenizer", "config.json")),
        ("config.json", lambda p: p.write_text("{}"), ("model_type", "config.json")),
        ("config.json", changed(intermediate_size=48), ("6 weights", "shape", "config.json")),
        # They are not drawn at random.
        ("config.json", changed(num_hidden_layers=3), ("9 weights", "model.layers.2.input_layernorm.weight")),
        ("model.safetensors", Path.unlink, ("model", "model.safetensors")),
        ("model.safetensors", lambda p: p.write_bytes(p.read_bytes()[:1000]), ("header",)),
        ("tokenizer.json", Path.unlink, ("tokenizer",)),
    ],
)  # fmt: skip
def test_a_broken_folder(copied: Path, file: str, change: Any, facts: tuple[str, ...]) -> None:
    change(copied / file)
    refused(lambda: load_model(str(copied)), str(copied), *facts)


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"attn_implementation": "flash_attention_2"}, ("FlashAttention2",)),
        ({"dtype": "float33"}, ("'float33'", "float32")),
        ({"dtype": "nn"}, ("'nn'",)),
        ({"device": "gpu"}, ("'gpu'", "cuda")),
        ({"device": "cuda:99"}, ("'cuda:99'", "CUDA devices")),
    ],
)
def test_settings_that_this_machine_has_not(saved: Path, settings: dict[str, str], facts) -> None:
    if "FlashAttention2" in facts and importlib.util.find_spec("flash_attn") is not None:
        pytest.skip("the package is installed here")
    refused(lambda: load_model(str(saved), **settings), *facts)


def test_a_cache_that_is_torn_says_what_to_delete(tmp_path: Path, saved: Path, monkeypatch) -> None:
    monkeypatch.setenv("GATT_CACHE", str(tmp_path))
    shutil.copytree(saved, tmp_path / EMBEDDED)
    (tmp_path / EMBEDDED / "model.safetensors").write_bytes(b"half")
    refused(lambda: load_model(EMBEDDED), EMBEDDED, f"delete {tmp_path / EMBEDDED}")
