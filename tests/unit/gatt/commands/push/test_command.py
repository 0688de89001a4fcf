"""What is laid out for an adapter, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gatt.commands.push.command import PushConfig
from gatt.commands.push.send import push
from gatt.errors import ConfigError, DataError, ModelError, StoreError
from gatt.models.base_card import read_card
from gatt.models.digest import adapter_digest
from gatt.models.template_variables import write_variables
from tests.support.models.trained import record, save_trained, write_results


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return save_trained(tmp_path_factory.mktemp("trained"))


@pytest.fixture
def adapter(trained: tuple[Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained[1], tmp_path / "adapter"))


def text_of(folder: Path, name: str = "README.md") -> str:
    return (folder / name).read_text(encoding="utf-8")


def pushed(out: Path, what: Any, folder: Path, **values: Any) -> Any:
    return push(PushConfig(what=what, folder=folder, output_dir=out, **values))


def test_an_adapter_with_its_evaluation(trained, adapter, tmp_path) -> None:
    write_variables(adapter, {"enable_thinking": False})
    curves = [record(), record(turn=20, rate=0.25)]
    evaluated = write_results(tmp_path / "eval", curves, {"gatt": adapter_digest(adapter)})
    out = tmp_path / "out"
    said = pushed(out, "adapter", adapter, results=evaluated, license="mit")
    assert sorted(p.name for p in out.iterdir()) == [
        "README.md", "adapter_config.json", "adapter_model.safetensors", "chat_template_kwargs.json",
        "trained_on.json",
    ]  # fmt: skip
    assert said.startswith(f"{out}: adapter as a model repository, 5 files, ")
    assert json.loads(text_of(out, "adapter_config.json"))["base_model_name_or_path"] == "base"
    card = read_card(text_of(out))
    assert (card.data.library_name, card.data.license) == ("peft", "mit")
    assert card.data.tags == ["ghost-attention", "gatt", "lora"]
    heads = [line for line in text_of(out).splitlines() if line.startswith("#")]
    assert heads == [
        "# Ghost Attention adapter", "## Method", "## Data", "## Training", "## Evaluation", "## Limits",
    ]  # fmt: skip
    assert "| gatt | 50 [25, 75] (16) | 25" in text_of(out)
    assert str(trained[0].parent) not in text_of(out) + text_of(out, "adapter_config.json")


@pytest.mark.parametrize(
    ("base", "folder", "public", "licence"),
    [
        ("smollm2-135m-instruct", None, "HuggingFaceTB/SmolLM2-135M-Instruct", "apache-2.0"),
        ("models/llama", None, "models/llama", None),
        ("models/llama", "models/llama", None, None),
    ],
)
def test_a_base_model_is_named_as_others_find_it(
    adapter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base: str, folder: str | None,
    public: str | None, licence: str | None,
) -> None:  # fmt: skip
    """A folder that is called like a repository of the hub is none."""
    monkeypatch.chdir(tmp_path)
    (adapter / "trained_on.json").unlink()
    path = adapter / "adapter_config.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**settings, "base_model_name_or_path": base}), encoding="utf-8")
    if folder is not None:
        Path(folder).mkdir(parents=True)
    pushed(Path("out"), "adapter", adapter)
    card = read_card(text_of(Path("out")))
    assert (card.data.base_model, card.data.license) == (public, licence)
    named = json.loads(text_of(Path("out"), "adapter_config.json"))["base_model_name_or_path"]
    assert named == (public or "llama")
    assert ("4-bit weights (Q4_1)" in card.text) == base.startswith("smollm2")


def test_what_a_card_says_of_this_machine_is_hidden_or_refused(adapter, tmp_path) -> None:
    card = adapter / "README.md"
    said = "From /cluster/a/m, ~/x/y and file:///home/me/z, by http://node1:8000/v1.\n"
    card.write_text(f"{card.read_text('utf-8')}\n{said}", encoding="utf-8")
    pushed(tmp_path / "out", "adapter", adapter)
    assert "From m, y and z, by http://server/v1.\n" in text_of(tmp_path / "out")
    card.write_text("The key is hf_0123456789abcdefghij.", encoding="utf-8")
    with pytest.raises(DataError, match=r"README\.md would hold .*key"):
        pushed(tmp_path / "again", "adapter", adapter)
    assert not (tmp_path / "again").exists()


def test_what_is_refused(adapter: Path, tmp_path: Path) -> None:
    for error, fact, folder, out in (
        (DataError, "none: no such folder", tmp_path / "none", tmp_path / "out"),
        (ModelError, r"adapter_config\.json", tmp_path, tmp_path / "out"),
        (StoreError, "exists already", adapter, adapter),
    ):
        with pytest.raises(error, match=fact):
            pushed(out, "adapter", folder)
        assert not (tmp_path / "out").exists()
    with pytest.raises(ConfigError, match="found neither"):
        PushConfig(what="adapter", folder=adapter)
    with pytest.raises(ConfigError, match="what=dataset"):
        pushed(tmp_path, "dataset", adapter, results=tmp_path)
