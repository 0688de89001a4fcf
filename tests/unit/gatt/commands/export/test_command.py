"""From an adapter to a folder that loads by itself and replies as base and adapter do together."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

from gatt.commands.export.command import ExportConfig
from gatt.commands.export.write import end_turns, export, for_other_readers
from gatt.errors import ConfigError, GattError, ModelError, StoreError, TemplateError
from gatt.models.digest import adapter_digest
from gatt.models.load import load_adapter, load_model
from tests.support.models.tiny import save_tiny_model
from tests.support.models.trained import record, save_adapter, save_trained, write_results

IDS = torch.tensor([[5, 17, 40, 33, 8, 21]])
WEIGHT = "model.layers.0.self_attn.q_proj.weight"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return save_trained(tmp_path_factory.mktemp("trained"))


def logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        return model(IDS).logits


def adapted(trained: tuple[Path, Path]) -> torch.Tensor:
    return logits(load_adapter(load_model(str(trained[0])), trained[1], "gatt").model)


def edit(path: Path, **changes: Any) -> None:
    values = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(values | changes), encoding="utf-8")


def test_it_loads_by_itself_and_says_what_base_and_adapter_say(trained, tmp_path) -> None:
    served = tmp_path / "served"
    said = export(ExportConfig(adapter=trained[1], output_dir=served))
    assert said.startswith(f"{served}: base with the adapter merged, float32, ")
    model, info = AutoModelForCausalLM.from_pretrained(served, output_loading_info=True)
    assert not info["missing_keys"] | info["unexpected_keys"]
    expected = adapted(trained)
    torch.testing.assert_close(logits(model), expected, atol=1e-5, rtol=1e-5)
    assert (logits(load_model(str(trained[0])).model) - expected).abs().max() > 0.02
    ours, theirs = (AutoTokenizer.from_pretrained(f) for f in (served, trained[0]))
    messages = [{"role": "user", "content": "Where shall we go today?"}]
    prompts = [t.apply_chat_template(messages, add_generation_prompt=True) for t in (ours, theirs)]
    assert prompts[0] == prompts[1]
    ends = GenerationConfig.from_pretrained(served)
    assert (ends.eos_token_id, ends.pad_token_id) == (theirs.eos_token_id, theirs.pad_token_id)
    assert sorted(p.name for p in served.iterdir()) == [
        "README.md", "chat_template.jinja", "config.json", "generation_config.json",
        "model.safetensors", "tokenizer.json", "tokenizer_config.json", "trained_on.json",
    ]  # fmt: skip
    for path in served.glob("*[!s]"):
        assert str(trained[0].parent.parent) not in path.read_text(encoding="utf-8"), path


def test_a_half_base_gets_its_update_in_full_and_the_sum_is_rounded_once(tmp_path: Path) -> None:
    base, adapter = save_trained(tmp_path)
    weights = {"gatt": adapter_digest(adapter)}
    results = write_results(tmp_path / "eval", [record(), record(turn=20, rate=0.25)], weights)
    AutoModelForCausalLM.from_pretrained(base, dtype=torch.bfloat16).save_pretrained(base)
    export(ExportConfig(adapter=adapter, output_dir=tmp_path / "auto", results=results))
    export(ExportConfig(adapter=adapter, output_dir=tmp_path / "wide", dtype="float32"))
    auto, wide = (load_file(tmp_path / n / "model.safetensors") for n in ("auto", "wide"))
    assert (auto[WEIGHT].dtype, wide[WEIGHT].dtype) == (torch.bfloat16, torch.float32)
    assert not torch.equal(wide[WEIGHT], wide[WEIGHT].to(torch.bfloat16).float())
    assert torch.equal(auto[WEIGHT], wide[WEIGHT].to(torch.bfloat16))
    assert "| gatt | 50 [25, 75] (16) | 25" in (tmp_path / "auto" / "README.md").read_text("utf-8")


def test_other_readers_find_dtype_rotary_base_and_tokenizer() -> None:
    settings = {
        "dtype": "bfloat16",
        "rope_parameters": {
            "rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "partial_rotary_factor": 0.4,
        },
        "tokenizer_class": "TokenizersBackend",
        "auto_map": {"AutoModel": "code.Model"},
    }  # fmt: skip
    for_other_readers(settings)
    assert settings.pop("rope_parameters")
    assert settings == {
        "dtype": "bfloat16", "torch_dtype": "bfloat16", "rope_theta": 5e5, "partial_rotary_factor": 0.4,
        "rope_scaling": {"rope_type": "llama3", "factor": 8.0}, "tokenizer_class": "PreTrainedTokenizerFast",
    }  # fmt: skip


def test_ends_that_share_their_weights_are_not_merged(tmp_path: Path) -> None:
    base = save_tiny_model(tmp_path / "base")
    adapter = save_adapter(tmp_path / "adapter", str(base), target="lm_head")
    with pytest.raises(ModelError, match="lm_head"):
        export(ExportConfig(adapter=adapter, output_dir=tmp_path / "served"))
    free = save_tiny_model(tmp_path / "free", tie_word_embeddings=False)
    other = save_adapter(tmp_path / "o", str(free), target="lm_head", tie_word_embeddings=False)
    export(ExportConfig(adapter=other, output_dir=tmp_path / "merged"))


def test_what_cannot_be_exported(trained: tuple[Path, Path], tmp_path: Path) -> None:
    def refused(error: type[GattError], fact: str, adapter: Path, base: Path | None = None) -> None:
        model = None if base is None else str(base)
        with pytest.raises(error, match=fact):
            export(ExportConfig(adapter=adapter, output_dir=tmp_path / "s", model=model))
        assert not (tmp_path / "s").exists()

    adapter = Path(shutil.copytree(trained[1], tmp_path / "adapter"))
    base = Path(shutil.copytree(trained[0], tmp_path / "base"))
    weights = load_file(adapter / "adapter_model.safetensors")
    first = min(weights)
    broken = {**weights, first: torch.full_like(weights[first], torch.nan)}
    save_file(broken, adapter / "adapter_model.safetensors")
    refused(ModelError, "adapter: 1 weights of the adapter are not finite", adapter)
    edit(base / "config.json", quantization_config={"quant_method": "bitsandbytes"})
    refused(ModelError, "base: its weights are quantised", trained[1], base)
    (base / "config.json").write_text("{", encoding="utf-8")
    refused(ModelError, r"base: .*configuration", trained[1], base)
    refused(TemplateError, "", trained[1], save_tiny_model(tmp_path / "plain", template=None))
    edit(adapter / "adapter_config.json", base_model_name_or_path=None)
    refused(ConfigError, "adapter: names no base model", adapter)
    (tmp_path / "s").mkdir()
    with pytest.raises(StoreError, match="s: exists already"):
        export(ExportConfig(adapter=trained[1], output_dir=tmp_path / "s"))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        # With the mark, transformers would take the ends from `config.json`; temperature without sampling
        # is what it refuses to save.
        (
            {"eos_token_id": 0, "_from_model_config": True, "do_sample": False, "temperature": 0.6},
            {"eos_token_id": [0, 2], "pad_token_id": 9, "do_sample": False, "temperature": 0.6},
        ),
        ({"eos_token_id": [2, 5], "pad_token_id": 1}, {"eos_token_id": [2, 5], "pad_token_id": 1}),
        ({}, {"eos_token_id": 2, "pad_token_id": 9}),
    ],
)
def test_servers_stop_where_the_template_ends_a_turn(settings, expected) -> None:
    end_turns(settings, {2}, 9)
    assert settings == expected
