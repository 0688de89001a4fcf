"""The card of an exported model, and the rates on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.report.data.selection import SCHEMA
from gatt.commands.export.command import ExportConfig
from gatt.commands.export.evaluation import RESULTS_SCHEMA, evaluation_of
from gatt.commands.export.write import card_of
from gatt.errors import DataError
from gatt.models.base_card import read_card
from tests.support.models.trained import record, save_adapter, write_results


def made(adapter: Path, base: str = "org/base", evaluation: str = "", **values: Any) -> str:
    config = ExportConfig(adapter=adapter, output_dir=Path("mine"), **values)
    return card_of(config, base, "bfloat16", "digest", evaluation)


def rows(folder: Path, arm: str | None = None) -> list[str]:
    """Return the lines of the table, without its head."""
    section = evaluation_of(folder, arm)[0]
    return [line for line in section.splitlines() if line.startswith("| ")][2:]


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
    evaluation, _ = evaluation_of(write_results(tmp_path, curves))
    text = made(adapter, evaluation=evaluation, license="mit")
    data = read_card(text).data
    assert (data.base_model, data.license, data.library_name) == ("org/base", "mit", "transformers")
    heads = [line for line in text.splitlines() if line.startswith("#")]
    assert heads == [
        "# mine", "## Use", "## Evaluation", "## Method", "## Data", "## Training", "## Limits",
        "## Licence",
    ]  # fmt: skip
    assert "merged into its weights (bfloat16)" in text
    assert [line for line in text.splitlines() if line.startswith("| reference")] == [
        "| reference | adherence | all instructions | base |  | 0 [0, 19] (16) |",
        "| reference | adherence | all instructions | gatt | 69 [44, 86] (16) | 31 [25, 75] (16) |",
        "| reference | false_trigger | all instructions | gatt | 0 (16) |  |",
    ]
    assert "suite: behaviour; dialogues: chitchat; cases of a split: 16; temperature: 0.0" in text


def test_without_evaluation_licence_and_adapter_card(tmp_path: Path) -> None:
    adapter = save_adapter(tmp_path / "adapter", "x")
    (adapter / "README.md").unlink()
    text = made(adapter, "/home/me/base")
    assert read_card(text).data.to_dict() == {
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        "tags": ["ghost-attention", "gatt"],
    }
    assert "/home/me" not in text
    assert "it is no safety measure" in text
    assert "4-bit weights (Q4_1)" in made(adapter, "smollm2-135m-instruct")


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
    assert rows(write_results(tmp_path, curves)) == [
        "| own | survival | all instructions | gatt | 50 [25, 75] (16) |",
        "| reference | adherence | all instructions | base | 50 [25, 75] (16) |",
        "| reference | adherence | all instructions | gatt | 50 [25, 75] (16) |",
    ]


def test_splits_stand_apart_unless_there_is_one(tmp_path: Path) -> None:
    curves = [record(split=s) for s in ("all", "train", "heldout_value")]
    many = rows(write_results(tmp_path / "many", curves))
    assert [row.split(" | ")[2] for row in many] == ["all instructions", "seen", "unseen value"]
    (one,) = rows(write_results(tmp_path / "one", curves[:2]))
    assert "| seen |" in one


def test_an_arm_is_named_or_the_only_one(tmp_path: Path) -> None:
    curves = [record(arm=arm) for arm in ("one", "two", "base")]
    folder = write_results(tmp_path, curves, config={"adapters": {"one": "a"}})
    for arm, name in ((None, "one"), ("two", "two")):
        assert {row.split(" | ")[3] for row in rows(folder, arm)} == {name, "base"}
    with pytest.raises(DataError, match=r"'three' \(found: one, two, base\)"):
        evaluation_of(folder, "three")
    with pytest.raises(DataError, match="'base' has no adapter"):
        evaluation_of(folder, "base", "feed")
    write_results(tmp_path, curves, config={"adapters": {"one": "a", "two": "b"}})
    with pytest.raises(DataError, match="no arm 'gatt'"):
        evaluation_of(folder)


def test_an_evaluation_of_another_adapter_is_refused(tmp_path: Path) -> None:
    folder = write_results(tmp_path, [record(arm=arm) for arm in ("gatt", "other", "served")])
    evaluation_of(folder, "gatt", "feed")  # no roll-outs: nothing is known
    rows = [
        {"key": "base/reference/d1"},
        {"key": "gatt/reference/d1", "weights": "feed"},
        {"key": "other/reference/d1", "weights": "beef"},
        {"key": "served/reference/d1", "weights": "served as gatt"},
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "rollouts.jsonl").write_text(lines, encoding="utf-8")
    for arm in ("gatt", "served"):
        evaluation_of(folder, arm, "feed")
    with pytest.raises(DataError, match="'other' is an adapter with digest beef"):
        evaluation_of(folder, "other", "feed")


def test_results_that_are_missing_broken_or_of_another_schema(tmp_path: Path) -> None:
    assert RESULTS_SCHEMA == SCHEMA
    with pytest.raises(DataError, match=r"results\.json: cannot read: No such file"):
        evaluation_of(tmp_path)
    schema = f'"schema": {SCHEMA}, "run": '
    for text in ("{", "[]", f"{{{schema}{{}}}}", f'{{{schema}1, "curves": []}}'):
        (tmp_path / "results.json").write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=r"results\.json: broken"):
            evaluation_of(tmp_path)
    (tmp_path / "results.json").write_text('{"schema": 2}', encoding="utf-8")
    with pytest.raises(DataError, match="schema is 2: expected 3"):
        evaluation_of(tmp_path)
