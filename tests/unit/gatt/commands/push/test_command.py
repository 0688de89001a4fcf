"""What is laid out for an adapter, a model and a report, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModelForCausalLM

from gatt.cli import main
from gatt.commands.export.config import ExportConfig
from gatt.commands.export.write import export
from gatt.commands.push.config import PushConfig
from gatt.commands.push.send import push
from gatt.errors import ConfigError, DataError, ModelError, StoreError
from gatt.models.base_card import read_card
from gatt.models.template_variables import write_variables
from tests.support.models.trained import record, save_trained, write_results

URL = "http://gpu01.hpc.uni-x.de:8000/v1"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return save_trained(tmp_path_factory.mktemp("trained"))


@pytest.fixture(scope="module")
def exported(trained: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out") / "served"
    export(ExportConfig(adapter=trained[1], output_dir=folder, merge=False, license="mit"))
    return folder


@pytest.fixture
def served(exported: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(exported, tmp_path / "served"))


@pytest.fixture
def evaluated(tmp_path: Path) -> Path:
    run = {
        "name": "demo",
        "command": ["gatt", "eval", "--adapters.gatt=/home/me/runs/adapter"],
        "config": {
            "adapters": {"gatt": "/home/me/runs/adapter"},
            "engine": {"server": {"urls": [URL]}},
        },
    }
    folder = write_results(tmp_path / "eval", [record(), record(turn=20, rate=0.25)], **run)
    page = (
        "<html><style>a { b: url(/data/x/y) }</style><pre>gatt eval --out=/home/me/runs/x</pre>"
        f"<p>/cluster/a/m at {URL}</p>"
        "<script>let a = b.replace(/data/g, '/home/me/z');</script></html>"
    )
    (folder / "report.html").write_text(page, encoding="utf-8")
    return folder


def text_of(folder: Path, name: str = "README.md") -> str:
    return (folder / name).read_text(encoding="utf-8")


def edit(path: Path, **changes: Any) -> None:
    values = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(values | changes), encoding="utf-8")


def test_an_adapter_with_its_evaluation(
    trained: tuple[Path, Path], evaluated: Path, tmp_path: Path
) -> None:
    base, adapter = trained[0], Path(shutil.copytree(trained[1], tmp_path / "adapter"))
    write_variables(adapter, {"enable_thinking": False})
    out = tmp_path / "out"
    config = PushConfig(what="adapter", folder=adapter, to=out, results=evaluated, license="mit")
    result = push(config)
    assert sorted(p.name for p in out.iterdir()) == [
        "README.md", "adapter_config.json", "adapter_model.safetensors", "chat_template_kwargs.json",
        "trained_on.json",
    ]  # fmt: skip
    assert (result.place, result.repo_type, result.num_files) == (str(out), "model", 5)
    assert json.loads(text_of(out, "adapter_config.json"))["base_model_name_or_path"] == "base"
    card = read_card(text_of(out))
    assert (card.data.library_name, card.data.license) == ("peft", "mit")
    assert card.data.tags == ["ghost-attention", "gatt", "lora"]
    assert card.data.model_name == "out"
    assert [r.metric_value for r in card.data.eval_results] == [0.5, 0.25]
    heads = [line for line in text_of(out).splitlines() if line.startswith("#")]
    assert heads == [
        "# Ghost Attention adapter", "## Method", "## Data", "## Training", "## Evaluation", "## Limits",
    ]  # fmt: skip
    assert str(base.parent) not in text_of(out) + text_of(out, "adapter_config.json")
    row = {"key": "gatt/reference/d", "weights": "0123456789abcdef"}
    (evaluated / "rollouts.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="digest 0123456789abcdef"):
        push(PushConfig(what="adapter", folder=adapter, to=tmp_path / "o", results=evaluated))
    assert not (tmp_path / "o").exists()


def test_an_adapter_without_a_card_gets_one(trained: tuple[Path, Path], tmp_path: Path) -> None:
    adapter = Path(shutil.copytree(trained[1], tmp_path / "adapter"))
    (adapter / "README.md").unlink()
    (adapter / "trained_on.json").unlink()
    edit(adapter / "adapter_config.json", base_model_name_or_path="smollm2-135m-instruct")
    push(PushConfig(what="adapter", folder=adapter, to=tmp_path / "out"))
    card = read_card(text_of(tmp_path / "out"))
    assert card.data.base_model == "HuggingFaceTB/SmolLM2-135M-Instruct"
    assert card.data.license == "apache-2.0"
    assert "from a file of 4-bit weights (Q4_1)" in card.text


def test_a_folder_that_is_called_like_a_repository_is_none(
    trained: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    adapter = Path(shutil.copytree(trained[1], "adapter"))
    edit(adapter / "adapter_config.json", base_model_name_or_path="models/llama")
    push(PushConfig(what="adapter", folder=adapter, to=Path("hub")))
    assert read_card(text_of(Path("hub"))).data.base_model == "models/llama"
    Path("models/llama").mkdir(parents=True)
    push(PushConfig(what="adapter", folder=adapter, to=Path("folder")))
    assert read_card(text_of(Path("folder"))).data.base_model is None
    settings = json.loads(text_of(Path("folder"), "adapter_config.json"))
    assert settings["base_model_name_or_path"] == "llama"


def test_a_model_loads_from_where_it_was_put(served: Path, tmp_path: Path) -> None:
    edit(served / "config.json", _name_or_path="/home/me/b")
    for name in (".cache", "notes.py"):
        (served / name).write_text("", encoding="utf-8")
    out = tmp_path / "out"
    result = push(PushConfig(what="model", folder=served, to=out, license="apache-2.0"))
    assert set(result.left_out) == {".cache", "notes.py"}
    assert {p.name for p in served.rglob("*")} - {p.name for p in out.rglob("*")} == {
        *result.left_out
    }
    AutoModelForCausalLM.from_pretrained(out).load_adapter(str(out / "adapter"))
    assert read_card(text_of(out)).data.license == "apache-2.0"
    assert "/home/me" not in text_of(out, "config.json")
    assert text_of(out, "tokenizer.json") == text_of(served, "tokenizer.json")
    (served / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(DataError, match=r"pytorch_model\.bin: expected weights in safetensors"):
        push(PushConfig(what="model", folder=served, to=tmp_path / "other"))


@pytest.mark.parametrize("gone", ["config.json", "README.md", "model.safetensors"])
def test_a_model_that_is_not_whole(served: Path, tmp_path: Path, gone: str) -> None:
    (served / gone).unlink()
    with pytest.raises(DataError, match=r"served: no .*\b(config|README|safetensors).*gatt export"):
        push(PushConfig(what="model", folder=served, to=tmp_path / "out"))


def test_a_report_is_a_page_with_the_numbers_behind_it(evaluated: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = push(PushConfig(what="report", folder=evaluated, to=out))
    assert (result.repo_type, result.num_files) == ("space", 3)
    page = text_of(out, "report.html")
    assert "<pre>gatt eval --out=x</pre>" in page
    assert "<p>m at http://server/v1</p>" in page
    # Code stays as it is.
    assert "url(/data/x/y)" in page
    assert "b.replace(/data/g, '/home/me/z')" in page
    results = json.loads(text_of(out, "results.json"))
    assert results["run"]["command"][2] == "--adapters.gatt=adapter"
    assert results["run"]["config"] == {
        "adapters": {"gatt": "adapter"},
        "engine": {"server": {"urls": ["http://server/v1"]}},
    }
    assert results["curves"] == [record(), record(turn=20, rate=0.25)]
    data = read_card(text_of(out)).data
    assert (data.sdk, data.app_file) == ("static", "report.html")
    assert data.title == "GAtt evaluation: demo"
    assert "| gatt | 50 [25, 75] (16) | 25" in text_of(out)


def test_reports_that_are_not_there_or_that_hold_a_key(evaluated: Path, tmp_path: Path) -> None:
    config = PushConfig(what="report", folder=evaluated, to=tmp_path / "out")
    base = {"config": {"adapters": {}}, "command": "gatt eval --key=hf_0123456789abcdefghij"}
    write_results(evaluated, [record(arm="base")], **base)
    with pytest.raises(DataError, match=r"results\.json would hold what looks like an access key"):
        push(config)
    (evaluated / "results.json").write_text("[]", encoding="utf-8")
    with pytest.raises(DataError, match=r"results\.json: broken"):
        push(config)
    (evaluated / "report.html").unlink()
    with pytest.raises(DataError, match=r"no report\.html"):
        push(config)
    assert not (tmp_path / "out").exists()


def test_folders_that_are_none(trained: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(DataError, match="none: no such folder"):
        push(PushConfig(what="adapter", folder=tmp_path / "none", to=tmp_path / "out"))
    with pytest.raises(ModelError, match=r"no adapter_config\.json"):
        push(PushConfig(what="adapter", folder=tmp_path, to=tmp_path / "out"))
    with pytest.raises(StoreError, match="adapter: exists already"):
        push(PushConfig(what="adapter", folder=trained[1], to=trained[1]))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "repo_id and to: found neither"),
        ({"repo_id": "a/b", "to": Path("c")}, "repo_id and to: found both"),
        ({"repo_id": "name"}, "repo_id is 'name'"),
        ({"repo_id": "../x"}, r"repo_id is '\.\./x'"),
        ({"to": Path("c"), "what": "model", "results": Path("r")}, "results with what=model"),
        ({"to": Path("c"), "arm": "gatt"}, "arm is 'gatt' without results"),
    ],
)
def test_settings_that_make_no_sense(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        PushConfig(**{"what": "adapter", "folder": Path("a"), **values})


def test_the_command_says_where_it_is(
    served: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (served / "notes.py").write_text("", encoding="utf-8")
    words = [f"--folder={served}", f"--to={tmp_path / 'm'}"]
    assert main(["push", "--what=model", *words]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{tmp_path / 'm'}: model as a model repository, ")
    assert "notes.py" in second
    assert main(["push", "--what=everything", *words]) == 2
    assert "'what' is 'everything'" in capsys.readouterr().err
