"""`gatt attend` from the words that are typed to the files that are left, on a tiny random model."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model

from eval.config import EvalConfig
from eval.run import evaluate
from eval.studies.attention.run import attend
from eval.studies.attention.task import AttendConfig
from gatt.cli import main
from gatt.data.training_marks import TrainedOn, write_marks
from gatt.errors import DataError
from gatt.generation.base import SamplingConfig
from gatt.generation.config import EngineConfig
from tests.support.models.tiny import save_tiny_model, tiny_llama, tiny_tokenizer
from tests.support.texts.small_catalog import write_catalog
from tests.unit.eval.studies.attention.test_task import settings

NUM = 3
TALKING: dict[str, Any] = {
    "seed": 1, "initializer_range": 0.3, "tie_word_embeddings": False,
}  # fmt: skip
"""A random model whose likeliest replies are not blank."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a model and an adapter of it that changes much."""
    root = tmp_path_factory.mktemp("attend")
    save_tiny_model(root / "model", **TALKING)
    config = LoraConfig(r=4, target_modules=["q_proj", "k_proj"], task_type="CAUSAL_LM")
    model = get_peft_model(tiny_llama(tiny_tokenizer(), **TALKING), config)
    torch.manual_seed(0)
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.5)
    model.save_pretrained(root / "adapter")
    write_marks(root / "adapter", TrainedOn.of([]))
    write_catalog(root / "catalog")
    return root


def evaluated(folder: Path, run: Path, num_turns: int = 3, **changes: Any) -> EvalConfig:
    """Return the configuration of an evaluation of the tiny model that is done."""
    common = settings(run, folder / "adapter", folder / "catalog", NUM, num_turns)
    own: dict[str, Any] = {
        "engine": EngineConfig(model=str(folder / "model")),
        # Greedily the tiny model has nothing to say at times.
        "sampling": SamplingConfig(max_new_tokens=6, temperature=0.8),
    }
    config = EvalConfig(**(common | own | changes))
    evaluate(config)
    return config


@pytest.fixture(scope="module")
def looked(folder: Path) -> Path:
    """Return the folder of an evaluation that was looked at."""
    run = evaluated(folder, folder / "run").output_dir
    assert 'id="attention"' not in (run / "report.html").read_text(encoding="utf-8")
    assert main(["attend", f"--results={run}", f"--chart={folder / 'map.png'}"]) == 0
    return run


@pytest.fixture
def data(looked: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((looked / "attention.json").read_text(encoding="utf-8"))
    return found


def test_the_file_holds_the_run_the_curves_and_the_map(data: dict[str, Any], looked: Path) -> None:
    assert data["schema"] == 1
    assert {"versions", "commit", "command", "hardware", "config", "verifiers"} <= set(data["run"])
    assert data["arms"] == ["base", "gatt"]
    assert (data["num_dialogues"], data["num_layers"], data["num_heads"]) == (NUM, 2, 4)
    records = {(r["arm"], r["metric"], r["turn"]): r for r in data["curves"]}
    for arm in data["arms"]:
        for turn in (1, 2, 3):
            mass = records[arm, "mass", turn]
            assert 0 <= mass["low"] < mass["value"] < mass["high"] <= 1
    base, gatt = data["maps"]
    assert (base["arm"], gatt["arm"]) == ("base", "gatt")
    assert base["bins"] == gatt["bins"]
    assert base["rows"][2]["peak"] != gatt["rows"][2]["peak"]
    lines = (looked / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    told = {(s["arm"], s["dialogue"], s["turn"]): s["status"] for s in map(json.loads, lines)}
    for row in gatt["rows"]:
        assert row["status"] == told["gatt", gatt["dialogue"], row["turn"]]
    lengths = [len(row["peak"]) for row in base["rows"]]
    assert lengths == sorted(lengths)
    assert lengths[-1] == len(base["bins"])


def test_the_last_turn_is_answered_anew_for_both_arms(data: dict[str, Any]) -> None:
    falls = data["unsighted"]["falls"]
    assert [(f["arm"], f["hidden"]) for f in falls] == [
        (arm, what) for arm in ("base", "gatt") for what in ("instruction", "as many other tokens")
    ]
    assert all(f["num_pairs"] + f["num_undecided"] == f["num_replies"] == NUM for f in falls)


def test_page_pictures_and_report_show_it(looked: Path, folder: Path) -> None:
    page = (looked / "attention.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 3  # a map for each arm, and the curves
    assert not re.search(r'(src|href)="(?!#)', page.replace("xlink:href", "href"))
    for ending in ("", "-turns"):
        assert (folder / f"map{ending}.png").read_bytes().startswith(b"\x89PNG")
    report = looked / "report.html"
    text = report.read_text(encoding="utf-8")
    assert 'href="#attention"' in text
    assert text.index('id="attention"') < text.index('id="rates"')
    report.unlink()
    assert main(["report", str(looked)]) == 0
    assert 'id="attention"' in report.read_text(encoding="utf-8")


def test_some_turns_of_some_cases_are_measured_and_what_is_there_is_replaced(
    looked: Path, folder: Path
) -> None:
    words = ["attend", f"--results={looked}", f"--output_dir={folder / 'look'}", "--turns=[2]"]
    for more in ([], ["--num_dialogues=1"]):
        assert main([*words, *more]) == 0
    found = json.loads((folder / "look" / "attention.json").read_text(encoding="utf-8"))
    assert [[row["turn"] for row in one["rows"]] for one in found["maps"]] == [[2], [2]]
    assert found["num_dialogues"] == 1


def test_turns_behind_the_end_of_the_context_are_counted(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = evaluated(folder, tmp_path / "run", num_turns=40, num_dialogues=1)
    found = attend(AttendConfig(results=config.output_dir))[0]
    (num,) = found["dropped"].values()
    num_looked = len(found["maps"][1]["rows"])
    assert 1 < num_looked < 40
    assert num == 2 * (40 - num_looked)
    assert f"not measured: {num} (replies without text, or behind the end of" in caplog.text


def test_replies_without_text_are_counted_and_nothing_is_left(folder: Path, tmp_path: Path) -> None:
    run = evaluated(folder, tmp_path / "run").output_dir
    lines = [json.loads(line) for line in (run / "samples.jsonl").read_text().splitlines()]
    blank = [json.dumps(line | {"reply": " "}) + "\n" for line in lines]
    (run / "samples.jsonl").write_text("".join(blank), encoding="utf-8")
    with pytest.raises(DataError, match=rf"none of {NUM} cases .*\({NUM}: no reply with text"):
        attend(AttendConfig(results=run))
