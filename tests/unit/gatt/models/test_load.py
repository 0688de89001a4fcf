"""What can be loaded, and one line for everything that cannot."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer

from gatt.errors import ModelError
from gatt.models.load import load_model, load_tokenizer, resolve
from gatt.models.packaged.table import EMBEDDED
from tests.support.models.tiny import save_tiny_model


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def copied(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "copied"))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GATT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def change_settings(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**settings, **changes}), encoding="utf-8")


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


def test_names_are_folders_or_hub_ids(
    copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert resolve(str(copied)) == str(copied)
    assert resolve("owner/model-0.5B") == "owner/model-0.5B"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve("~/copied") == str(copied)


@pytest.mark.parametrize("missing", ["gone", "not/there/either"])
def test_a_missing_folder(tmp_path: Path, missing: str) -> None:
    path = tmp_path / missing
    with pytest.raises(
        ModelError, match=rf"^{path}: no such folder: expected a model folder or a hub id 'owner/"
    ):
        load_model(str(path))


def test_a_file_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(b"GGUF")
    with pytest.raises(ModelError, match=r"model\.bin: found a file"):
        load_model(str(path))


def test_a_folder_without_settings(copied: Path) -> None:
    (copied / "config.json").unlink()
    with pytest.raises(
        ModelError, match=r"no config\.json in this folder: expected a saved transformers model"
    ):
        load_model(str(copied))


@pytest.mark.parametrize(("text", "what"), [("{", "tokenizer"), ("{}", "model")])
def test_settings_that_are_broken(copied: Path, text: str, what: str) -> None:
    (copied / "config.json").write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=rf"^{copied}: cannot load the {what}: [^\n]*config\.json"):
        load_model(str(copied))


def test_a_model_of_a_kind_that_transformers_does_not_know(copied: Path) -> None:
    change_settings(copied, model_type="lamma")
    with pytest.raises(ModelError, match=r"cannot load the model: [^\n]*`lamma`"):
        load_model(str(copied))


def test_a_folder_without_tokenizer(copied: Path) -> None:
    for path in copied.glob("tokenizer*"):
        path.unlink()
    with pytest.raises(ModelError, match=rf"^{copied}: cannot load the tokenizer: [^\n]+$"):
        load_tokenizer(str(copied))


@pytest.mark.parametrize("text", ["{", "{}"])
def test_a_broken_tokenizer(copied: Path, text: str) -> None:
    (copied / "tokenizer.json").write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=rf"^{copied}: cannot load the tokenizer: [^\n]+$"):
        load_tokenizer(str(copied))


def test_a_folder_without_weights(copied: Path) -> None:
    (copied / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"cannot load the model: [^\n]*model\.safetensors"):
        load_model(str(copied))


def test_weights_that_a_copy_tore(copied: Path) -> None:
    path = copied / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ModelError, match=rf"^{copied}: cannot load the model: [^\n]*header"):
        load_model(str(copied))


def test_weights_of_another_shape(copied: Path) -> None:
    change_settings(copied, intermediate_size=48)
    with pytest.raises(ModelError, match=rf"^{copied}: cannot load the model: [^\n]+$"):
        load_model(str(copied))


def test_weights_that_are_missing_are_not_drawn_at_random(copied: Path) -> None:
    change_settings(copied, num_hidden_layers=3)
    with pytest.raises(
        ModelError,
        match=r": 9 weights are missing, such as model\.layers\.2\.input_layernorm\.weight: expect",
    ):
        load_model(str(copied))


def test_an_attention_that_there_is_not(saved: Path) -> None:
    with pytest.raises(ModelError, match=r'cannot load the model: [^\n]*attn_implementation="fla'):
        load_model(str(saved), attn_implementation="flash")


def test_an_attention_whose_package_is_missing(saved: Path) -> None:
    if importlib.util.find_spec("flash_attn") is not None:
        pytest.skip("the package is installed here")
    with pytest.raises(
        ModelError, match=r"cannot load the model: FlashAttention2 has been toggled"
    ):
        load_model(str(saved), attn_implementation="flash_attention_2")


@pytest.mark.parametrize("dtype", ["float33", "int8", "nn"])
def test_an_unknown_dtype(saved: Path, dtype: str) -> None:
    with pytest.raises(
        ModelError, match=f"^unknown dtype '{dtype}': expected auto, float32, bfloat16 or float16$"
    ):
        load_model(str(saved), dtype=dtype)


def test_an_unknown_device(saved: Path) -> None:
    with pytest.raises(
        ModelError, match=r"^unknown device 'gpu': expected auto, cpu, cuda or cuda"
    ):
        load_model(str(saved), device="gpu")


def test_a_device_that_is_not_there(saved: Path) -> None:
    with pytest.raises(ModelError, match=r"^device 'cuda:99': this machine has \d+ CUDA devices"):
        load_model(str(saved), device="cuda:99")


def test_a_cache_that_is_torn_says_what_to_delete(cache: Path, saved: Path) -> None:
    shutil.copytree(saved, cache / EMBEDDED)
    (cache / EMBEDDED / "model.safetensors").write_bytes(b"half")
    with pytest.raises(
        ModelError,
        match=rf"^{EMBEDDED}: cannot load the model: .*: delete {cache / EMBEDDED} to make it again$",
    ):
        load_model(EMBEDDED)


def test_a_folder_with_a_tokenizer_alone_has_a_tokenizer_and_no_model(copied: Path) -> None:
    for path in copied.iterdir():
        if not path.name.startswith(("tokenizer", "chat_template", "special_tokens")):
            path.unlink()
    assert load_tokenizer(str(copied)).chat_template
    with pytest.raises(ModelError, match=r"no config.json in this folder"):
        load_model(str(copied))
