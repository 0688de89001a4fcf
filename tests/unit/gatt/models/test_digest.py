"""Digests of models and adapters: what they tell apart, and what they leave out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gatt.errors import ModelError
from gatt.models import digest as weights
from gatt.models.digest import adapter_digest, folder_digest, model_digest
from tests.support.runs.stages import write_model


def test_the_same_files_elsewhere_are_the_same_model(tmp_path: Path) -> None:
    one, two = write_model(tmp_path / "one"), write_model(tmp_path / "two")
    (two / "README.md").write_text("about it", encoding="utf-8")
    assert folder_digest(one) == folder_digest(two) == model_digest(str(one))
    assert len(folder_digest(one)) == 16


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.safetensors", b"Weights"),
        ("config.json", b"{} "),
        ("tokenizer.json", b"{}"),
        ("chat_template.jinja", b"{{ messages }}"),
        ("model-00002-of-00002.safetensors", b""),
    ],
)
def test_a_changed_or_added_file_is_another_model(tmp_path: Path, name, content) -> None:
    folder = write_model(tmp_path / "m")
    before = folder_digest(folder)
    (folder / name).write_bytes(content)
    assert folder_digest(folder) != before


def test_bytes_cannot_move_from_one_file_to_the_next(tmp_path: Path) -> None:
    digests = set()
    for n, parts in enumerate([(b"ab", b"c"), (b"a", b"bc"), (b"", b"abc")]):
        folder = write_model(tmp_path / str(n))
        for name, content in zip(("a.bin", "b.bin"), parts, strict=True):
            (folder / name).write_bytes(content)
        digests.add(folder_digest(folder))
    assert len(digests) == 3


def test_a_large_file_is_sampled_all_over(tmp_path: Path, monkeypatch) -> None:
    for name, value in {"WHOLE_BYTES": 5_000, "HEAD_BYTES": 100, "BLOCK_BYTES": 50}.items():
        monkeypatch.setattr(weights, name, value)
    monkeypatch.setattr(weights, "NUM_BLOCKS", 11)
    folder = write_model(tmp_path / "m")
    path = folder / "model.safetensors"

    def digest(*changed: int, size: int = 10_000) -> str:
        data = bytearray(size)
        for place in changed:
            data[place] = 1
        path.write_bytes(data)
        return folder_digest(folder)

    same = digest()
    # Blocks start at 100 and every 985 bytes from there to the last one, at 9,950.
    assert {digest(place) == same for place in (0, 99, 100, 149, 1085, 9_950, 9_999)} == {False}
    for start in range(0, 9_000, 250):
        assert digest(*range(start, start + 986)) != same
    assert digest(size=10_001) != same
    assert digest(500) == same  # what sampling cannot see
    monkeypatch.setattr(weights, "WHOLE_BYTES", 10_000)
    assert digest(500) != digest()


def write_adapter(folder: Path, settings: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "adapter_model.safetensors").write_bytes(b"weights")
    (folder / "adapter_config.json").write_text(settings, encoding="utf-8")
    return folder


def test_an_adapter_counts_with_its_settings_in_whatever_order(tmp_path: Path) -> None:
    def digest(settings: object) -> str:
        return adapter_digest(write_adapter(tmp_path / "a", json.dumps(settings)))

    one = digest({"lora_alpha": 32, "target_modules": ["q_proj", "v_proj"]})
    assert digest({"target_modules": ["v_proj", "q_proj"], "lora_alpha": 32}) == one
    assert digest({"lora_alpha": 16, "target_modules": ["q_proj", "v_proj"]}) != one
    assert digest({"lora_alpha": 32, "target_modules": ["q_proj", "k_proj"]}) != one
    broken = adapter_digest(write_adapter(tmp_path / "a", "{"))
    assert broken not in (one, adapter_digest(write_adapter(tmp_path / "a", "{{")))


def test_a_hub_model_is_told_by_its_commit(tmp_path: Path, monkeypatch) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    asked = []

    def find(name: str, file: str) -> str:
        asked.append((name, file))
        return str(tmp_path / "snapshots" / commit / file)

    monkeypatch.setattr("transformers.utils.cached_file", find)
    assert model_digest("owner/name") == commit[:16]
    assert asked == [("owner/name", "config.json")]


def test_a_hub_model_that_cannot_be_looked_up(monkeypatch) -> None:
    def fail(name: str, file: str) -> str:
        raise OSError(f"no {file}\nof {name}")

    monkeypatch.setattr("transformers.utils.cached_file", fail)
    message = r"^owner/name: cannot look up the model: no config.json of owner/name$"
    with pytest.raises(ModelError, match=message):
        model_digest("owner/name")


def test_folders_without_weights_are_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(
        ModelError, match=r"no weights \(\*\.safetensors, \*\.bin\): expected a saved"
    ):
        model_digest(str(tmp_path))
    with pytest.raises(ModelError, match=r"no adapter_model.safetensors: expected a folder saved"):
        adapter_digest(tmp_path)
    (tmp_path / "model.safetensors").mkdir()
    with pytest.raises(ModelError, match=r"no weights"):
        folder_digest(tmp_path)
