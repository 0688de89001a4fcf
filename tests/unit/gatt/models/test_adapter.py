"""An adapter fits its model wholly, or is refused in one line."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from peft import LoraConfig, get_peft_model

from gatt.errors import ModelError
from gatt.models.adapter import attach_adapter
from tests.support.hostile.files import changed
from tests.support.models.tiny import tiny_llama, tiny_tokenizer
from tests.support.models.trained import save_adapter


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_adapter(tmp_path_factory.mktemp("adapter"), "tiny")


@pytest.fixture
def copied(adapter: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(adapter, tmp_path / "copied"))


def attach(folder: Path, model: Any = None, **options: Any) -> Any:
    base = tiny_llama(tiny_tokenizer()) if model is None else model
    return attach_adapter(base, folder, base_name="tiny", **options)


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
        ("adapter_config.json", lambda p: p.write_text("{}"), ("adapter_config.json", "None", "'LORA'")),
        ("adapter_config.json", changed(task_type="CHAT"), ("CHAT",)),
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
    folder = save_adapter(tmp_path / "other", "tiny", **changes)
    model = attach(adapter, adapter_name="first") if stands_beside_another else None
    with pytest.raises(ModelError, match=rf"other: [^\n]*tiny: [^\n]*{fact}"):
        attach(folder, model, adapter_name="second")


Q_AND_V = [f"model.layers.{n}.self_attn.{name}_proj" for n in (0, 1) for name in "qv"]


def saved_with(folder: Path, target: str | list[str], **changes: Any) -> Path:
    """Save an adapter as a trainer does that leaves its patterns in the settings."""
    model = tiny_llama(tiny_tokenizer())
    config = LoraConfig(task_type="CAUSAL_LM", r=2, target_modules=target, **changes)
    get_peft_model(model, config).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("stands_beside_another", [False, True])
@pytest.mark.parametrize(
    ("target", "changes", "modules"),
    [
        (r".*\.(q|v)_proj", {}, Q_AND_V),
        (r"(?:.*?(?:language|text)?.*?self_attn.*?(?:q_proj|v_proj).*?)", {}, Q_AND_V),
        (r"^(model(?=\.).*\.(q_proj|v_proj))$", {"exclude_modules": r".*layers\.0\..*"}, Q_AND_V[2:]),
        (["q_proj", "v_proj"], {"exclude_modules": r".*\.v_proj"}, Q_AND_V[::2]),
        (r"model\.layers\.\d+\.self_attn\.[qv]_proj", {"rank_pattern": {r"layers\.[1-9]\..*": 1}}, Q_AND_V),
    ],
)  # fmt: skip
def test_patterns_are_expanded_to_the_modules_that_were_trained(
    adapter: Path,
    tmp_path: Path,
    target: str,
    changes: dict[str, Any],
    modules: list[str],
    stands_beside_another: bool,
) -> None:
    folder = saved_with(tmp_path / "patterns", target, **changes)
    model = attach(adapter, adapter_name="first") if stands_beside_another else None
    attached = attach(folder, model, adapter_name="second")
    layers = {
        name.removeprefix("base_model.model."): module.r["second"]
        for name, module in attached.named_modules()
        if "second" in (getattr(module, "r", None) or {})
    }
    ranks = {name: 1 if "rank_pattern" in changes and "layers.1" in name else 2 for name in modules}
    assert layers == ranks


@pytest.mark.parametrize(
    ("target", "facts"),
    [
        ("(q|v)_proj)", ("copied", "unbalanced parenthesis")),
        (r"(.*\.)?nowhere\d", ("adapter_config.json", "tiny", "matches no module", "nowhere")),
    ],
)
def test_a_pattern_that_is_broken_or_matches_nothing(copied, target, facts) -> None:
    changed(target_modules=target)(copied / "adapter_config.json")
    with pytest.raises(ModelError) as caught:
        attach(copied)
    said = str(caught.value)
    assert [fact for fact in facts if fact not in said] == []
    assert "\n" not in said


def test_a_pattern_of_a_model_with_fewer_layers_does_not_fit(tmp_path: Path) -> None:
    folder = saved_with(tmp_path, r".*\.q_proj")
    with pytest.raises(ModelError, match=r"has no \S+layers\.2"):
        attach(folder, tiny_llama(tiny_tokenizer(), num_hidden_layers=3))
