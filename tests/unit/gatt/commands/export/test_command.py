"""From an adapter to a folder that loads by itself and replies as base and adapter do together."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, PhiConfig

from gatt.cli import main
from gatt.commands.export.config import ExportConfig
from gatt.commands.export.write import export, for_older_readers
from gatt.errors import ConfigError, DataError, ModelError, StoreError, TemplateError
from gatt.models.base_card import hub_id, license_of, public_name, read_card
from gatt.models.load import load_adapter, load_model
from tests.support.models.tiny import save_tiny_model
from tests.support.models.trained import record, save_adapter, save_trained, write_results

IDS = torch.tensor([[5, 17, 40, 33, 8, 21]])
WEIGHT = "model.layers.0.self_attn.q_proj.weight"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return save_trained(tmp_path_factory.mktemp("trained"))


@pytest.fixture(scope="module")
def served(trained: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out") / "served"
    assert export(ExportConfig(adapter=trained[1], output_dir=folder)).folder == folder
    return folder


def logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        return model(IDS).logits


def adapted(trained: tuple[Path, Path]) -> torch.Tensor:
    return logits(load_adapter(load_model(str(trained[0])), trained[1], "gatt").model)


def edit(path: Path, **changes: Any) -> None:
    values = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(values | changes), encoding="utf-8")


def test_it_loads_by_itself_and_says_what_base_and_adapter_say(
    trained: tuple[Path, Path], served: Path
) -> None:
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


def test_nothing_but_safetensors_and_no_local_path(
    trained: tuple[Path, Path], served: Path
) -> None:
    assert sorted(p.name for p in served.iterdir()) == [
        "README.md", "chat_template.jinja", "config.json", "generation_config.json",
        "model.safetensors", "tokenizer.json", "tokenizer_config.json", "trained_on.json",
    ]  # fmt: skip
    for path in served.glob("*[!s]"):
        assert str(trained[0].parent.parent) not in path.read_text(encoding="utf-8"), path
    assert (served / "model.safetensors").stat().st_mode & 0o044


def test_a_half_base_gets_its_update_in_full_and_the_sum_is_rounded_once(tmp_path: Path) -> None:
    base, adapter = save_trained(tmp_path)
    AutoModelForCausalLM.from_pretrained(base, dtype=torch.bfloat16).save_pretrained(base)
    export(ExportConfig(adapter=adapter, output_dir=tmp_path / "auto"))
    export(ExportConfig(adapter=adapter, output_dir=tmp_path / "wide", dtype="float32"))
    auto, wide = (load_file(tmp_path / n / "model.safetensors") for n in ("auto", "wide"))
    assert (auto[WEIGHT].dtype, wide[WEIGHT].dtype) == (torch.bfloat16, torch.float32)
    assert not torch.equal(wide[WEIGHT], wide[WEIGHT].to(torch.bfloat16).float())
    assert torch.equal(auto[WEIGHT], wide[WEIGHT].to(torch.bfloat16))


def test_readers_of_before_find_dtype_and_the_turned_part_of_a_head(
    trained: tuple[Path, Path], tmp_path: Path
) -> None:
    # Phi turns a part of each head.
    PhiConfig(partial_rotary_factor=0.4, dtype=torch.bfloat16).save_pretrained(tmp_path)
    shutil.copy(trained[0] / "tokenizer_config.json", tmp_path)
    for_older_readers(tmp_path)
    found = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert (found["torch_dtype"], found["dtype"]) == ("bfloat16", "bfloat16")
    assert found["partial_rotary_factor"] == 0.4
    assert "rope_scaling" not in found


def test_the_adapter_can_stay_apart(trained: tuple[Path, Path], tmp_path: Path) -> None:
    folder = tmp_path / "apart"
    export(ExportConfig(adapter=trained[1], output_dir=folder, merge=False))
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert torch.equal(logits(model), logits(load_model(str(trained[0])).model))
    model.load_adapter(str(folder / "adapter"))
    torch.testing.assert_close(logits(model), adapted(trained), atol=1e-5, rtol=1e-5)
    settings = json.loads((folder / "adapter" / "adapter_config.json").read_text("utf-8"))
    assert settings["base_model_name_or_path"] == "base"
    assert (folder / "adapter" / "trained_on.json").is_file()


def test_the_evaluation_stands_in_the_card(trained: tuple[Path, Path], tmp_path: Path) -> None:
    results = write_results(tmp_path / "eval", [record(), record(turn=20, rate=0.25)])
    out = tmp_path / "s"
    export(
        ExportConfig(
            adapter=trained[1], output_dir=out, results=results, name="mine", license="mit"
        )
    )
    card = read_card((out / "README.md").read_text(encoding="utf-8")).data
    assert [(r.metric_name, r.metric_value) for r in card.eval_results] == [
        ("Adherence at turn 1", 0.5),
        ("Adherence at turn 20", 0.25),
    ]
    assert (card.model_name, card.license) == ("mine", "mit")


def test_an_evaluation_of_another_adapter_stops_it_before_the_work(
    trained: tuple[Path, Path], tmp_path: Path
) -> None:
    results = write_results(tmp_path / "eval", [record()])
    row = {"key": "gatt/reference/d", "weights": "0123456789abcdef"}
    (results / "rollouts.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="digest 0123456789abcdef"):
        export(ExportConfig(adapter=trained[1], output_dir=tmp_path / "s", results=results))
    assert not (tmp_path / "s").exists()


def test_a_base_is_named_for_others(tmp_path: Path) -> None:
    assert hub_id("smollm2-135m-instruct") == "HuggingFaceTB/SmolLM2-135M-Instruct"
    assert hub_id("org/name") == public_name("org/name") == "org/name"
    assert hub_id(str(tmp_path)) is hub_id("./name") is hub_id("../name") is None
    assert public_name("/home/me/models/llama") == "llama"
    (tmp_path / "README.md").write_text("---\nlicense: gemma\n---\n", encoding="utf-8")
    assert license_of(str(tmp_path)) == "gemma"
    assert license_of(str(tmp_path / "none")) is None
    assert license_of("smollm2-135m-instruct") == "apache-2.0"


def test_an_export_that_is_stopped_leaves_nothing_and_one_that_is_there_stays(
    trained: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    config = ExportConfig(adapter=trained[1], output_dir=tmp_path / "served")
    monkeypatch.setattr("gatt.commands.export.write.export_card", stop)
    with pytest.raises(KeyboardInterrupt):
        export(config)
    assert os.listdir(tmp_path) == []
    config.output_dir.mkdir()
    with pytest.raises(StoreError, match="served: exists already"):
        export(config)


def test_ends_that_share_their_weights_are_not_merged(tmp_path: Path) -> None:
    base = save_tiny_model(tmp_path / "base")
    adapter = save_adapter(tmp_path / "adapter", str(base), target="lm_head")
    with pytest.raises(ModelError, match="lm_head"):
        export(ExportConfig(adapter=adapter, output_dir=tmp_path / "served"))
    export(ExportConfig(adapter=adapter, output_dir=tmp_path / "served", merge=False))
    free = save_tiny_model(tmp_path / "free", tie_word_embeddings=False)
    other = save_adapter(tmp_path / "o", str(free), target="lm_head", tie_word_embeddings=False)
    export(ExportConfig(adapter=other, output_dir=tmp_path / "merged"))


def test_what_cannot_be_exported(trained: tuple[Path, Path], tmp_path: Path) -> None:
    adapter = Path(shutil.copytree(trained[1], tmp_path / "adapter"))
    base = Path(shutil.copytree(trained[0], tmp_path / "base"))
    out = tmp_path / "s"
    weights = load_file(adapter / "adapter_model.safetensors")
    first = min(weights)
    broken = {**weights, first: torch.full_like(weights[first], torch.nan)}
    save_file(broken, adapter / "adapter_model.safetensors")
    with pytest.raises(ModelError, match="adapter: 1 weights of the adapter are not finite"):
        export(ExportConfig(adapter=adapter, output_dir=out))
    edit(base / "config.json", quantization_config={"quant_method": "bitsandbytes"})
    with pytest.raises(ModelError, match="base: its weights are quantised"):
        export(ExportConfig(adapter=trained[1], output_dir=out, model=str(base)))
    (base / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(ModelError, match=r"base: .*configuration"):
        export(ExportConfig(adapter=trained[1], output_dir=out, model=str(base)))
    plain = save_tiny_model(tmp_path / "plain", template=None)
    with pytest.raises(TemplateError):
        export(ExportConfig(adapter=trained[1], output_dir=out, model=str(plain)))
    edit(adapter / "adapter_config.json", base_model_name_or_path=None)
    with pytest.raises(ConfigError, match="adapter: names no base model"):
        export(ExportConfig(adapter=adapter, output_dir=out))
    with pytest.raises(ConfigError, match="arm is 'gatt' without results"):
        ExportConfig(adapter=adapter, output_dir=out, arm="gatt")
    assert not out.exists()


def test_settings_that_the_base_was_published_with_stay(
    trained: tuple[Path, Path], tmp_path: Path
) -> None:
    base = Path(shutil.copytree(trained[0], tmp_path / "base"))
    # transformers would refuse to save these once they are changed.
    kept = {"do_sample": False, "temperature": 0.6}
    changed = {"eos_token_id": 0, "pad_token_id": None, "_from_model_config": True}
    edit(base / "generation_config.json", **kept, **changed)
    export(ExportConfig(adapter=trained[1], output_dir=tmp_path / "s", model=str(base)))
    found = json.loads((tmp_path / "s" / "generation_config.json").read_text(encoding="utf-8"))
    assert found["temperature"] == 0.6
    # 0 is <|endoftext|>, 2 the <|im_end|> that closes a turn.
    assert (found["eos_token_id"], found["pad_token_id"]) == ([0, 2], 0)
    assert "_from_model_config" not in found
    assert GenerationConfig.from_pretrained(tmp_path / "s").eos_token_id == [0, 2]


def test_the_command_says_what_is_there_and_how_to_serve_it(
    trained: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "served"
    words = ["export", f"--adapter={trained[1]}", f"--output_dir={out}"]
    assert main(words) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{out}: base with the adapter merged, float32, ")
    assert second == f"serve it: transformers serve {out}"
    assert main([*words[:2], f"--output_dir={tmp_path / 'apart'}", "--merge=false"]) == 0
    assert "--enable-lora --lora-modules gatt=" in capsys.readouterr().out
    assert main(["export", f"--adapter={tmp_path}", f"--output_dir={tmp_path / 'x'}"]) == 2
    said = capsys.readouterr().err
    assert "adapter_config.json" in said
    assert said.count("\n") == 1
