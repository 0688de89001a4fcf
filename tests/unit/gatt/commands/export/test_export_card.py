"""The card of an exported model, and the rates on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.report.data.selection import SCHEMA
from gatt.commands.export.card import export_card
from gatt.commands.export.config import ExportConfig
from gatt.commands.export.evaluation import RESULTS_SCHEMA, read_evaluation
from gatt.errors import DataError
from gatt.models.base_card import read_card
from tests.support.models.trained import record, save_adapter, write_results


def card_of(adapter: Path, base: str = "org/base", **values: Any) -> str:
    evaluation = values.pop("evaluation", None)
    config = ExportConfig(adapter=adapter, output_dir=Path("mine"), **values)
    return export_card(config, base, "bfloat16", evaluation)


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_adapter(tmp_path_factory.mktemp("trained") / "adapter", "org/base")


def test_it_says_what_how_rates_licence_and_limits(adapter: Path, tmp_path: Path) -> None:
    curves = [
        record(arm="base", turn=20, rate=0.0, low=0.0, high=0.19),
        record(rate=0.69, low=0.44, high=0.857),
        record(turn=20, rate=0.3125),
        record(metric="false_trigger", rate=0.0, low=None, high=None),
    ]
    evaluation = read_evaluation(write_results(tmp_path, curves))
    text = card_of(adapter, evaluation=evaluation, license="mit")
    data = read_card(text).data
    assert (data.base_model, data.license, data.library_name) == ("org/base", "mit", "transformers")
    heads = [line for line in text.splitlines() if line.startswith("#")]
    assert heads == [
        "# mine", "## Use", "## Evaluation", "## Method", "## Data", "## Training", "## Limits",
        "## Licence",
    ]  # fmt: skip
    assert "merged into its weights (bfloat16)" in text
    rows = [line for line in text.splitlines() if line.startswith("| reference")]
    assert rows == [
        "| reference | adherence | all instructions | base |  | 0 [0, 19] (16) |",
        "| reference | adherence | all instructions | gatt | 69 [44, 86] (16) | 31 [25, 75] (16) |",
        "| reference | false_trigger | all instructions | gatt | 0 (16) |  |",
    ]
    assert "suite: behaviour; dialogues: chitchat; cases of a split: 16; temperature: 0.0" in text


def test_without_evaluation_licence_and_adapter_card(tmp_path: Path) -> None:
    adapter = save_adapter(tmp_path / "adapter", "x")
    (adapter / "README.md").unlink()
    text = card_of(adapter, "/home/me/base")
    assert read_card(text).data.to_dict() == {
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        "tags": ["ghost-attention", "gatt"],
    }
    assert "/home/me" not in text
    assert "it is no safety measure" in text
    assert "4-bit weights (Q4_1)" in card_of(adapter, "smollm2-135m-instruct")


def test_a_card_is_read_whatever_its_head_is() -> None:
    assert read_card("# plain\n").text.strip() == "# plain"
    assert read_card("---\nlicense: mit\n---\n# x\n").data.license == "mit"
    for head in ("[1, 2]", "a: [", "license: {"):
        card = read_card(f"---\n{head}\n---\n# x\n")
        assert (card.text.strip(), card.data.get("license")) == ("# x", None)


def test_a_card_takes_totals_with_a_rate_of_the_arm_and_of_the_base_model(tmp_path: Path) -> None:
    curves = [
        record(),
        record(arm="base"),
        record(history="own", metric="survival"),
        record(arm="other"),
        record(turn=4, rate=None, low=None, high=None),
        record(family="language"),
        record(metric="repetition"),
    ]
    assert list(read_evaluation(write_results(tmp_path, curves)).records) == curves[:3]


def test_splits_stand_apart_unless_there_is_one(tmp_path: Path) -> None:
    curves = [record(split=s) for s in ("all", "train", "heldout_value")]
    many = read_evaluation(write_results(tmp_path / "many", curves))
    assert [r["split"] for r in many.records] == ["all", "train", "heldout_value"]
    one = read_evaluation(write_results(tmp_path / "one", curves[:2]))
    assert [r["split"] for r in one.records] == ["train"]


def test_an_arm_is_named_or_the_only_one(tmp_path: Path) -> None:
    curves = [record(arm=arm) for arm in ("one", "two", "base")]
    folder = write_results(tmp_path, curves, config={"adapters": {"one": "a"}})
    assert read_evaluation(folder).arm == "one"
    assert read_evaluation(folder, "two").arm == "two"
    with pytest.raises(DataError, match=r"'three' \(found: one, two, base\)"):
        read_evaluation(folder, "three")
    with pytest.raises(DataError, match="'base' has no adapter"):
        read_evaluation(folder, "base", "feed")
    write_results(tmp_path, curves, config={"adapters": {"one": "a", "two": "b"}})
    with pytest.raises(DataError, match="no arm 'gatt'"):
        read_evaluation(folder)


def test_an_evaluation_of_another_adapter_is_refused(tmp_path: Path) -> None:
    folder = write_results(tmp_path, [record(arm=arm) for arm in ("gatt", "other", "served")])
    read_evaluation(folder, "gatt", "feed")  # no roll-outs: nothing is known
    rows = [
        {"key": "base/reference/d1"},
        {"key": "gatt/reference/d1", "weights": "feed"},
        {"key": "other/reference/d1", "weights": "beef"},
        {"key": "served/reference/d1", "weights": "served as gatt"},
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "rollouts.jsonl").write_text(lines, encoding="utf-8")
    for arm in ("gatt", "served"):
        assert read_evaluation(folder, arm, "feed").arm == arm
    with pytest.raises(DataError, match="'other' is an adapter with digest beef"):
        read_evaluation(folder, "other", "feed")


def test_results_that_are_missing_broken_or_of_another_schema(tmp_path: Path) -> None:
    assert RESULTS_SCHEMA == SCHEMA
    with pytest.raises(DataError, match=r"results\.json: cannot read: No such file"):
        read_evaluation(tmp_path)
    schema = f'"schema": {SCHEMA}, "run": '
    for text in ("{", "[]", f"{{{schema}{{}}}}", f'{{{schema}1, "curves": []}}'):
        (tmp_path / "results.json").write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=r"results\.json: broken"):
            read_evaluation(tmp_path)
    (tmp_path / "results.json").write_text('{"schema": 2}', encoding="utf-8")
    with pytest.raises(DataError, match="schema is 2: expected 3"):
        read_evaluation(tmp_path)
