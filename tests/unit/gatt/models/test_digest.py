"""Digests of models and adapters: what they tell apart, and what they leave out."""

from __future__ import annotations

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
        ("chat_template.jinja", b"{{ messages }}"),
        ("model-00002-of-00002.safetensors", b""),
    ],
)
def test_a_changed_or_added_file_is_another_model(tmp_path: Path, name, content) -> None:
    folder = write_model(tmp_path / "m")
    before = folder_digest(folder)
    (folder / name).write_bytes(content)
    assert folder_digest(folder) != before


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


def test_an_adapter_counts_with_its_settings_in_whatever_order(tmp_path: Path) -> None:
    def digest(settings: str) -> str:
        (tmp_path / "adapter_model.safetensors").write_bytes(b"weights")
        (tmp_path / "adapter_config.json").write_text(settings, encoding="utf-8")
        return adapter_digest(tmp_path)

    one = digest('{"lora_alpha": 32, "target_modules": ["q_proj", "v_proj"]}')
    assert digest('{"target_modules": ["v_proj", "q_proj"], "lora_alpha": 32}') == one
    others = {
        digest('{"lora_alpha": 16, "target_modules": ["q_proj", "v_proj"]}'),
        digest('{"lora_alpha": 32, "target_modules": ["q_proj", "k_proj"]}'),
        *map(digest, ("{", "{{")),
    }
    assert len(others | {one}) == 5


def test_a_hub_model_counts_by_its_commit(tmp_path: Path, monkeypatch) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    found = tmp_path / "snapshots" / commit
    monkeypatch.setattr("transformers.utils.cached_file", lambda name, file: str(found / file))
    assert model_digest("owner/name") == commit[:16]

    def fail(name: str, file: str) -> str:
        raise OSError(f"no {file}\nof {name}")

    monkeypatch.setattr("transformers.utils.cached_file", fail)
    with pytest.raises(ModelError, match=r"^owner/name: [^\n]*no config.json of owner/name$"):
        model_digest("owner/name")


def test_folders_without_weights_are_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    (tmp_path / "model.safetensors").mkdir()
    for digest in (folder_digest, adapter_digest):
        with pytest.raises(ModelError, match=rf"{tmp_path}: no .*safetensors"):
            digest(tmp_path)
