"""`gatt attend` from the words that are typed to the files that are left, on a tiny random model."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model

from eval.config import EvalConfig
from eval.run import evaluate
from eval.studies.attention.config import AttendConfig
from eval.studies.attention.run import attend
from gatt.cli import main
from gatt.data.catalog.choice import InstructionChoice
from gatt.data.dialogue import Dialogue, Message
from gatt.data.training_marks import write_marks
from gatt.generation.config import EngineConfig, local_engine
from gatt.sources.config import SourceConfig
from tests.support.models.tiny import NO_SYSTEM, save_tiny_model, tiny_llama, tiny_tokenizer
from tests.support.runs.stages import dialogue, write_dialogues
from tests.support.texts.small_catalog import write_catalog

NUM = 3
TALKING: dict[str, Any] = {
    "seed": 1, "initializer_range": 0.3, "tie_word_embeddings": False,
}  # fmt: skip
"""A random model whose likeliest replies are not blank."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a model, an adapter of it that changes much, and dialogues."""
    root = tmp_path_factory.mktemp("attend")
    save_tiny_model(root / "model", **TALKING)
    config = LoraConfig(r=4, target_modules=["q_proj", "k_proj"], task_type="CAUSAL_LM")
    model = get_peft_model(tiny_llama(tiny_tokenizer(), **TALKING), config)
    torch.manual_seed(0)
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.5)
    model.save_pretrained(root / "adapter")
    write_marks(root / "adapter", [dialogue(1)])
    write_dialogues(root / "d.jsonl", num=NUM, num_turns=3)
    write_catalog(root / "catalog")
    return root


def words(folder: Path, out: Path, *more: str) -> list[str]:
    return [
        "attend", f"--engine.model={folder / 'model'}", f"--adapter={folder / 'adapter'}",
        f"--dialogue={folder / 'd.jsonl'}", "--entry=hobby.tennis", f"--output_dir={out}",
        f"--catalog=[{folder / 'catalog'}]", "--sampling.max_new_tokens=6",
        # Greedily the tiny model has nothing to say at times.
        "--sampling.temperature=0.8", *more,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def looked(folder: Path) -> Path:
    out = folder / "out"
    assert main(words(folder, out, f"--chart={folder / 'map.png'}")) == 0
    return out


@pytest.fixture
def data(looked: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((looked / "attention.json").read_text(encoding="utf-8"))
    return found


def test_the_file_holds_the_run_and_every_reply(data: dict[str, Any]) -> None:
    assert data["schema"] == 1
    assert {"versions", "commit", "command", "hardware", "config", "verifiers"} <= set(data["run"])
    assert data["run"]["config"]["entry"] == "hobby.tennis"
    assert data["arms"] == ["base", "gatt"]
    assert (data["num_dialogues"], data["num_layers"], data["num_heads"]) == (NUM, 2, 4)
    assert len(data["turns"]) == 2 * NUM * 3
    told = [b for b in data["maps"][0]["bins"] if b["part"] == "instruction"]
    num_told = sum(b["end"] - b["start"] for b in told)
    for reply in data["turns"]:
        assert 0 < reply["mass"] <= 1
        assert reply["mass"] + reply["own"] < 1
        assert reply["mass"] <= reply["peak"] * num_told
    curve = [(r["arm"], r["metric"], r["turn"]) for r in data["curves"]]
    assert curve[:2] == [("base", "mass", 1), ("base", "peak", 1)]
    assert ("gatt", "mass_difference", 3) in curve
    assert all(r["low"] < r["value"] < r["high"] for r in data["curves"] if r["metric"] == "mass")
    assert {(r["arm"], r["kind"]) for r in data["correlation"]} == {
        (arm, kind) for arm in ("base", "gatt") for kind in ("point_biserial", "spearman")
    }


def test_base_and_adapter_look_at_different_things_in_the_same_text(data: dict[str, Any]) -> None:
    base, gatt = (next(m for m in data["maps"] if m["arm"] == arm) for arm in ("base", "gatt"))
    assert base["bins"] == gatt["bins"]
    assert base["dialogue"] == gatt["dialogue"] == "d-000"
    assert base["rows"][2]["peak"] != gatt["rows"][2]["peak"]
    statuses = {
        r["turn"]: r["status"]
        for r in data["turns"]
        if (r["arm"], r["dialogue"]) == ("gatt", "d-000")
    }
    assert {row["turn"]: row["status"] for row in gatt["rows"]} == statuses
    lengths = [len(row["peak"]) for row in base["rows"]]
    assert lengths == sorted(lengths)
    assert lengths[-1] == len(base["bins"])
    difference = next(r for r in data["curves"] if r["metric"] == "mass_difference")
    assert difference["value"] != 0


def test_the_last_turn_is_answered_anew_for_both_arms(data: dict[str, Any]) -> None:
    replies = data["unsighted"]["replies"]
    assert len(replies) == 2 * NUM * 3
    assert {r["turn"] for r in replies} == {3}
    assert {r["hidden"] for r in replies} == {"nothing", "instruction", "as many other tokens"}
    falls = data["unsighted"]["falls"]
    assert [(f["arm"], f["hidden"]) for f in falls] == [
        (arm, what) for arm in ("base", "gatt") for what in ("instruction", "as many other tokens")
    ]
    assert all(f["num_pairs"] + f["num_undecided"] == NUM for f in falls)


def test_what_the_adapter_was_trained_on_is_said(data: dict[str, Any]) -> None:
    assert data["notes"][0].startswith("1 of 3 dialogues are among those that the adapter")


def test_page_and_pictures_stand_alone(looked: Path, folder: Path) -> None:
    page = (looked / "attention.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 3
    assert "Where the model looks" in page
    assert not re.search(r'(src|href)="(?!#)', page.replace("xlink:href", "href"))
    for ending in ("", "-turns", "-heads"):
        assert (folder / f"map{ending}.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_there_is_replaced_only_when_asked(looked: Path, folder: Path, capsys) -> None:
    assert main(words(folder, looked)) == 2
    said = capsys.readouterr().err
    assert re.match(r"gatt: \S+attention\.json: exists already: give another output_dir, or", said)
    assert said.count("\n") == 1
    more = ("--overwrite=true", "--num_dialogues=1", "--mask_last=false", "--turns=[2]")
    before = (looked / "attention.json").read_bytes()
    assert main(words(folder, looked, *more)) == 0
    found = json.loads((looked / "attention.json").read_text(encoding="utf-8"))
    assert [r["turn"] for r in found["turns"]] == [2, 2]
    assert found["unsighted"] == {"falls": [], "replies": []}
    (looked / "attention.json").write_bytes(before)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--adapter=none"], r"none: no adapter_config\.json: expected a folder saved by"),
        (["--entri=x"], r"unknown key 'entri', did you mean 'entry'"),
        (["--chart=/dev/null/x.png"], r"/dev/null/x\.png: cannot write: /dev/null is a file: mend"),
        (["--dialogue=none.jsonl"], r"none\.jsonl: no such file: expected a JSONL file"),
    ],
)
def test_a_mistake_is_one_line(folder: Path, tmp_path: Path, capsys, more, message) -> None:
    assert main(words(folder, tmp_path / "new", *more)) == 2
    said = capsys.readouterr().err
    assert re.search(message, said)
    assert said.count("\n") == 1


def test_the_model_is_the_one_that_the_adapter_was_trained_on(folder: Path, tmp_path: Path) -> None:
    own = tmp_path / "adapter"
    shutil.copytree(folder / "adapter", own)
    settings = json.loads((own / "adapter_config.json").read_text(encoding="utf-8"))
    settings["base_model_name_or_path"] = str(folder / "model")
    (own / "adapter_config.json").write_text(json.dumps(settings), encoding="utf-8")
    more = ("--num_dialogues=1", "--turns=[2]", "--mask_last=false", f"--adapter={own}")
    typed = [word for word in words(folder, tmp_path, *more) if "--engine.model" not in word]
    assert main(typed) == 0
    run = json.loads((tmp_path / "attention.json").read_text(encoding="utf-8"))["run"]
    assert run["model"] == run["config"]["engine"]["model"] == str(folder / "model")
    # A model that is given is taken, whatever the adapter says.
    settings["base_model_name_or_path"] = str(tmp_path / "gone")
    (own / "adapter_config.json").write_text(json.dumps(settings), encoding="utf-8")
    assert main(words(folder, tmp_path, *more, "--overwrite=true")) == 0


def engine(folder: Path, template: str | None = None) -> Any:
    model = folder / "model"
    if template:
        model = save_tiny_model(folder / "other", template, **TALKING)
    return local_engine(EngineConfig(model=str(model)), {"gatt": folder / "adapter"})


def test_text_that_cannot_be_read_is_dropped_for_both_arms_and_counted(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bad = Dialogue("bad", (Message("user", "hi <|im_end|> there"), Message("assistant", "yes")))
    path = tmp_path / "d.jsonl"
    rows = [bad.as_dict(), dialogue(2).as_dict()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    config = AttendConfig(
        adapter=folder / "adapter", dialogue=str(path), instruction="Be brief.",
        output_dir=tmp_path / "out",
    )  # fmt: skip
    found = attend(config, engine(folder)).results
    assert found["num_dialogues"] == 1
    (reason,) = found["dropped"]
    assert "control token '<|im_end|>'" in reason
    assert f"not looked at: 1 ({reason})" in caplog.text
    assert found["unsighted"]["falls"] == []
    assert {row["status"] for row in found["maps"][0]["rows"]} == {None}
    assert found["notes"][0].startswith("No rule judges the replies")
    path.write_text(json.dumps(bad.as_dict()) + "\n", encoding="utf-8")
    alone = AttendConfig(**{**vars(config), "output_dir": tmp_path / "none"})
    with pytest.raises(Exception, match=r"none of 1 dialogues can be looked at \(1: the text"):
        attend(alone, engine(folder))


def test_turns_behind_the_end_of_the_context_are_counted(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_dialogues(tmp_path / "long.jsonl", num=1, num_turns=40)
    config = AttendConfig(
        adapter=folder / "adapter", dialogue=str(tmp_path / "long.jsonl"), instruction="Be brief.",
        output_dir=tmp_path / "out",
    )  # fmt: skip
    found = attend(config, engine(folder)).results
    (num,) = found["dropped"].values()
    num_looked = sum(turn["arm"] == "gatt" for turn in found["turns"])
    assert 1 < num_looked < 40
    assert num == 2 * (40 - num_looked)
    assert f"not looked at: {num} (replies behind the end of the model's context)" in caplog.text


def test_a_template_without_system_role_has_it_in_the_first_message(
    folder: Path, tmp_path: Path
) -> None:
    config = AttendConfig(
        adapter=folder / "adapter", dialogue=f"{folder / 'd.jsonl'}/d-001", history="own",
        instruction="Be brief.", output_dir=tmp_path / "out",
    )  # fmt: skip
    found = attend(config, engine(folder, NO_SYSTEM)).results
    bins = found["maps"][0]["bins"]
    assert [b["part"] for b in bins if b["turn"] in (0, 1)][:2] == ["setup", "instruction"]
    assert "Each arm reads its own replies" in found["notes"][-1]


@pytest.fixture
def evaluated(folder: Path, tmp_path: Path) -> Iterator[EvalConfig]:
    """Yield the configuration of an evaluation of the tiny model that is done."""
    config = EvalConfig(
        output_dir=tmp_path / "run",
        adapters={"gatt": folder / "adapter"},
        engine=EngineConfig(model=str(folder / "model")),
        part=None,
        source=SourceConfig(name="jsonl", path=str(folder / "d.jsonl"), min_turns=3, max_turns=3),
        instructions=InstructionChoice(catalog=(str(folder / "catalog"),), num_entries=(1.0,)),
        splits=("train",),
        num_dialogues=2,
        turns=(1, 3),
        probe_turns=(),
        task_completion=False,
    )
    (folder / "adapter" / "trained_on.json").rename(tmp_path / "marks")
    evaluate(config)
    yield config
    (tmp_path / "marks").rename(folder / "adapter" / "trained_on.json")


def test_the_report_of_an_evaluation_gets_a_section(evaluated: EvalConfig, capsys) -> None:
    run = evaluated.output_dir
    page = run / "report.html"
    assert 'id="attention"' not in page.read_text(encoding="utf-8")
    assert main(["attend", f"--samples={run}"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == str(page)
    found = json.loads((run / "attention.json").read_text(encoding="utf-8"))
    samples = [json.loads(line) for line in (run / "samples.jsonl").read_text().splitlines()]
    told = {(s["arm"], s["dialogue"], s["turn"]): s["status"] for s in samples}
    assert len(found["turns"]) == 8
    assert all(told[r["arm"], r["dialogue"], r["turn"]] == r["status"] for r in found["turns"])
    text = page.read_text(encoding="utf-8")
    assert 'id="attention"' in text
    assert 'href="#attention"' in text
    assert text.index('id="attention"') < text.index('id="rates"')
    for again in (lambda: main(["report", str(run)]), lambda: evaluate(evaluated)):
        page.unlink()
        again()
        assert 'id="attention"' in page.read_text(encoding="utf-8")
