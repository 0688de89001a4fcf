"""What is laid out for an adapter and a report, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gatt.commands.push.command import PushConfig
from gatt.commands.push.send import push
from gatt.errors import ConfigError, DataError, GattError, ModelError, StoreError
from gatt.models.base_card import read_card
from gatt.models.template_variables import write_variables
from tests.support.models.trained import record, save_trained, write_results

URL = "http://gpu01.hpc.uni-x.de:8000/v1"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return save_trained(tmp_path_factory.mktemp("trained"))


@pytest.fixture
def adapter(trained: tuple[Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained[1], tmp_path / "adapter"))


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


def pushed(out: Path, what: Any, folder: Path, **values: Any) -> Any:
    return push(PushConfig(what=what, folder=folder, output_dir=out, **values))


def test_an_adapter_with_its_evaluation(
    trained: tuple[Path, Path], adapter: Path, evaluated: Path, tmp_path: Path
) -> None:
    write_variables(adapter, {"enable_thinking": False})
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


def test_a_report_is_a_page_with_the_numbers_behind_it(evaluated: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert "report as a space repository, 3 files, " in pushed(out, "report", evaluated)
    page = text_of(out, "report.html")
    assert "<pre>gatt eval --out=x</pre>" in page
    assert "<p>m at http://server/v1</p>" in page
    # Code stays as it is.
    assert "url(/data/x/y)" in page
    assert "b.replace(/data/g, '/home/me/z')" in page
    results = json.loads(text_of(out, "results.json"))
    assert results["run"]["command"][2] == "--adapters.gatt=adapter"
    assert results["run"]["config"]["engine"] == {"server": {"urls": ["http://server/v1"]}}
    assert results["curves"] == [record(), record(turn=20, rate=0.25)]
    data = read_card(text_of(out)).data
    assert (data.sdk, data.app_file) == ("static", "report.html")
    assert data.title == "GAtt evaluation: demo"
    assert "| gatt | 50 [25, 75] (16) | 25" in text_of(out)


def test_what_is_refused(trained: tuple[Path, Path], evaluated: Path, tmp_path: Path) -> None:
    def refused(error: type[GattError], fact: str, what: str, folder: Path) -> None:
        out = trained[1] if fact == "exists already" else tmp_path / "out"
        with pytest.raises(error, match=fact):
            pushed(out, what, folder)
        assert not (tmp_path / "out").exists()

    refused(DataError, "none: no such folder", "adapter", tmp_path / "none")
    refused(ModelError, r"adapter_config\.json", "adapter", tmp_path)
    refused(StoreError, "exists already", "adapter", trained[1])
    base = {"config": {"adapters": {}}, "command": "gatt eval --key=hf_0123456789abcdefghij"}
    write_results(evaluated, [record(arm="base")], **base)
    refused(DataError, r"results\.json would hold .*key", "report", evaluated)
    (evaluated / "results.json").write_text("[]", encoding="utf-8")
    refused(DataError, r"results\.json: broken", "report", evaluated)
    (evaluated / "report.html").unlink()
    refused(DataError, r"no report\.html", "report", evaluated)


@pytest.mark.parametrize(
    ("values", "fact"),
    [
        ({}, "neither"),
        ({"repo_id": "a/b", "output_dir": Path("c")}, "both"),
        ({"output_dir": Path("c"), "what": "report", "results": Path("r")}, "what=report"),
        ({"output_dir": Path("c"), "arm": "gatt"}, "arm is 'gatt'"),
    ],
)
def test_settings_that_do_not_go_together(values: dict[str, Any], fact: str) -> None:
    with pytest.raises(ConfigError, match=fact):
        PushConfig(**{"what": "adapter", "folder": Path("a"), **values})
