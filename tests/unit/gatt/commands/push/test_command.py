"""What is laid out for an adapter, a model and a report, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file
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


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return save_trained(tmp_path_factory.mktemp("trained"))


@pytest.fixture(scope="module")
def served(trained: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out") / "served"
    export(ExportConfig(adapter=trained[1], output_dir=folder, merge=False, license="mit"))
    return folder


@pytest.fixture
def evaluated(tmp_path: Path) -> Path:
    run = {
        "name": "demo",
        "model": "org/base",
        "command": ["gatt", "eval", "--adapters.gatt=/home/me/runs/adapter"],
        "config": {
            "adapters": {"gatt": "/home/me/runs/adapter"},
            "suite": None,
            "engine": {"server": {"urls": ["http://gpu01.hpc.uni-x.de:8000/v1"]}},
        },
    }
    folder = write_results(tmp_path / "eval", [record(), record(turn=20, rate=0.25)], **run)
    page = (
        "<html><style>a { b: url(/data/x/y) }</style><pre>gatt eval --out=/home/me/runs/x</pre>"
        "<p>/cluster/a/m at http://gpu01.hpc.uni-x.de:8000/v1</p>"
        "<script>let a = b.replace(/data/g, '/home/me/z');</script></html>"
    )
    (folder / "report.html").write_text(page, encoding="utf-8")
    return folder


def text_of(folder: Path, name: str = "README.md") -> str:
    return (folder / name).read_text(encoding="utf-8")


def test_an_adapter_with_its_evaluation(
    trained: tuple[Path, Path], evaluated: Path, tmp_path: Path
) -> None:
    base, adapter = trained[0], Path(shutil.copytree(trained[1], tmp_path / "adapter"))
    write_variables(adapter, {"enable_thinking": False})
    out = tmp_path / "out"
    result = push(
        PushConfig(what="adapter", folder=adapter, to=out, results=evaluated, license="mit")
    )
    assert sorted(p.name for p in out.iterdir()) == [
        "README.md", "adapter_config.json", "adapter_model.safetensors", "chat_template_kwargs.json",
        "trained_on.json",
    ]  # fmt: skip
    assert (result.place, result.repo_type, result.num_files) == (str(out), "model", 5)
    assert json.loads(text_of(out, "adapter_config.json"))["base_model_name_or_path"] == "base"
    assert load_file(out / "adapter_model.safetensors").keys()
    card = read_card(text_of(out))
    assert card.data.library_name == "peft"
    assert card.data.license == "mit"
    assert card.data.tags == ["ghost-attention", "gatt", "lora"]
    assert card.data.model_name == "out"
    assert [r.metric_value for r in card.data.eval_results] == [0.5, 0.25]
    heads = [line for line in text_of(out).splitlines() if line.startswith("#")]
    assert heads == [
        "# Ghost Attention adapter", "## Method", "## Data", "## Training", "## Evaluation", "## Limits",
    ]  # fmt: skip
    assert str(base.parent) not in text_of(out) + text_of(out, "adapter_config.json")


def test_an_adapter_without_a_card_gets_one(trained: tuple[Path, Path], tmp_path: Path) -> None:
    adapter = Path(shutil.copytree(trained[1], tmp_path / "adapter"))
    (adapter / "README.md").unlink()
    (adapter / "trained_on.json").unlink()
    path = adapter / "adapter_config.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    name = {"base_model_name_or_path": "smollm2-135m-instruct"}
    path.write_text(json.dumps(settings | name), encoding="utf-8")
    push(PushConfig(what="adapter", folder=adapter, to=tmp_path / "out"))
    card = read_card(text_of(tmp_path / "out"))
    assert card.data.base_model == "HuggingFaceTB/SmolLM2-135M-Instruct"
    assert card.data.license == "apache-2.0"
    assert "A LoRA adapter for `smollm2-135m-instruct`." in card.text
    assert "from a file of 4-bit weights (Q4_1)" in card.text


def test_a_folder_that_is_called_like_a_repository_is_none(
    trained: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    adapter = Path(shutil.copytree(trained[1], "adapter"))
    path = adapter / "adapter_config.json"
    settings = json.loads(path.read_text(encoding="utf-8")) | {
        "base_model_name_or_path": "models/llama"
    }
    path.write_text(json.dumps(settings), encoding="utf-8")
    card = "---\nbase_model: models/llama\n---\n\n# Mine\n"
    (adapter / "README.md").write_text(card, encoding="utf-8")
    push(PushConfig(what="adapter", folder=adapter, to=Path("hub")))
    assert read_card(text_of(Path("hub"))).data.base_model == "models/llama"
    Path("models/llama").mkdir(parents=True)
    push(PushConfig(what="adapter", folder=adapter, to=Path("folder")))
    assert read_card(text_of(Path("folder"))).data.base_model is None
    assert (
        json.loads(text_of(Path("folder"), "adapter_config.json"))["base_model_name_or_path"]
        == "llama"
    )


def test_an_evaluation_of_another_adapter(
    trained: tuple[Path, Path], evaluated: Path, tmp_path: Path
) -> None:
    row = {"key": "gatt/reference/d", "weights": "0123456789abcdef"}
    (evaluated / "rollouts.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="expected an evaluation of the same adapter"):
        push(PushConfig(what="adapter", folder=trained[1], to=tmp_path / "o", results=evaluated))
    assert not (tmp_path / "o").exists()


def test_a_model_loads_from_where_it_was_put(served: Path, tmp_path: Path) -> None:
    source = Path(shutil.copytree(served, tmp_path / "served"))
    for name, key in (("config.json", "_name_or_path"), ("tokenizer_config.json", "name_or_path")):
        values = json.loads(text_of(source, name))
        (source / name).write_text(json.dumps({**values, key: "/home/me/b"}), encoding="utf-8")
    (source / ".cache").write_text("", encoding="utf-8")
    (source / "notes.py").write_text("", encoding="utf-8")
    out = tmp_path / "out"
    result = push(PushConfig(what="model", folder=source, to=out, license="apache-2.0"))
    left_out = {".cache", "notes.py"}
    assert set(result.left_out) == left_out
    assert {p.name for p in source.rglob("*")} - {p.name for p in out.rglob("*")} == left_out
    AutoModelForCausalLM.from_pretrained(out).load_adapter(str(out / "adapter"))
    assert read_card(text_of(out)).data.license == "apache-2.0"
    for name in ("config.json", "tokenizer_config.json"):
        assert "/home/me" not in text_of(out, name)
    assert text_of(out, "tokenizer.json") == text_of(source, "tokenizer.json")


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        ("config.json", r"no config\.json: expected a folder that `gatt export` made"),
        ("README.md", r"no README\.md: expected a folder that `gatt export` made"),
        ("model.safetensors", r"no weights \(\*\.safetensors\): expected a folder that `gatt exp"),
    ],
)
def test_a_model_that_is_not_whole(served: Path, tmp_path: Path, gone: str, said: str) -> None:
    source = Path(shutil.copytree(served, tmp_path / "served"))
    (source / gone).unlink()
    with pytest.raises(DataError, match=said):
        push(PushConfig(what="model", folder=source, to=tmp_path / "out"))


def test_weights_that_can_run_code_are_not_shared(served: Path, tmp_path: Path) -> None:
    source = Path(shutil.copytree(served, tmp_path / "served"))
    (source / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(DataError, match=r"model\.bin: expected weights in safetensors only: take"):
        push(PushConfig(what="model", folder=source, to=tmp_path / "out"))


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
    assert results["run"]["config"]["adapters"] == {"gatt": "adapter"}
    assert results["run"]["command"][2] == "--adapters.gatt=adapter"
    assert results["run"]["config"]["engine"]["server"]["urls"] == ["http://server/v1"]
    assert results["curves"] == [record(), record(turn=20, rate=0.25)]
    data = read_card(text_of(out)).data
    assert (data.sdk, data.app_file) == ("static", "report.html")
    assert data.title == "GAtt evaluation: demo"
    assert "| Adherence | all instructions | this model | 50 [25, 75] (16) | 25" in text_of(out)


def test_a_report_of_a_base_model_alone(evaluated: Path, tmp_path: Path) -> None:
    write_results(evaluated, [record(arm="base")], config={"adapters": {}}, name="plain")
    push(PushConfig(what="report", folder=evaluated, to=tmp_path / "a"))
    assert "## Evaluation" not in text_of(tmp_path / "a")
    push(PushConfig(what="report", folder=evaluated, to=tmp_path / "b", arm="base"))
    assert "## Evaluation" in text_of(tmp_path / "b")


def test_reports_that_are_not_there_or_broken(evaluated: Path, tmp_path: Path) -> None:
    said = PushConfig(what="report", folder=evaluated, to=tmp_path / "out")
    for text in ("[]", '{"curves": []}'):
        (evaluated / "results.json").write_text(text, encoding="utf-8")
        with pytest.raises(
            DataError, match=r"results\.json: no 'run': expected a file that `gatt ev"
        ):
            push(said)
    (evaluated / "report.html").unlink()
    with pytest.raises(DataError, match=r"no report\.html: expected a folder that `gatt eval` mad"):
        push(said)


def test_a_key_in_what_is_shared_stops_it(evaluated: Path, tmp_path: Path) -> None:
    write_results(evaluated, [record()], command="gatt eval --key=hf_0123456789abcdefghij")
    with pytest.raises(
        DataError, match=r"results\.json would hold what looks like an access key: t"
    ):
        push(PushConfig(what="report", folder=evaluated, to=tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_folders_that_are_none(trained: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none: no such folder: expected what a command of gatt l"):
        push(PushConfig(what="adapter", folder=tmp_path / "none", to=tmp_path / "out"))
    with pytest.raises(ModelError, match=r"no adapter_config\.json: expected a folder saved by"):
        push(PushConfig(what="adapter", folder=tmp_path, to=tmp_path / "out"))
    (tmp_path / "there").mkdir()
    with pytest.raises(StoreError, match=r"there: exists already: give a new folder"):
        push(PushConfig(what="adapter", folder=trained[1], to=tmp_path / "there"))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "repo_id and to: found neither, expected one of them"),
        ({"repo_id": "a/b", "to": Path("c")}, "repo_id and to: found both, expected one of them"),
        ({"repo_id": "name"}, "repo_id is 'name': expected 'owner/name'"),
        ({"repo_id": "../x"}, "repo_id is '../x': expected 'owner/name'"),
        (
            {"to": Path("c"), "what": "model", "results": Path("r")},
            "results with what=model: expected",
        ),
        (
            {"to": Path("c"), "arm": "gatt"},
            "arm is 'gatt' without results: expected both, or neither",
        ),
        ({"to": Path("c"), "license": " "}, "license is empty: expected some text, or null"),
    ],
)
def test_settings_that_make_no_sense(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        PushConfig(**{"what": "adapter", "folder": Path("a"), **values})


def test_the_command_says_where_it_is(
    trained: tuple[Path, Path], served: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["push", "--what=adapter", f"--folder={trained[1]}", f"--to={tmp_path / 'out'}"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert said == f"{tmp_path / 'out'}: adapter as a model repository, 4 files, 0.0 MB\n"
    source = Path(shutil.copytree(served, tmp_path / "served"))
    (source / "notes.py").write_text("", encoding="utf-8")
    assert main(["push", "--what=model", f"--folder={source}", f"--to={tmp_path / 'm'}"]) == 0
    assert capsys.readouterr().out.endswith("left out, of no kind that is shared: notes.py\n")
    assert main(["push", "--what=everything", *words[2:]]) == 2
    assert "'what' is 'everything'" in capsys.readouterr().err
