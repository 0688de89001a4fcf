"""The card of an exported model, and the rates on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eval.records import samples
from gatt.commands.export.command import ExportConfig
from gatt.commands.export.evaluation import RESULTS_SCHEMA, evaluation_of
from gatt.commands.export.write import card_of
from gatt.errors import DataError
from gatt.models.base_card import read_card
from tests.support.models.trained import record, save_adapter, write_results


def made(adapter: Path, base: str = "org/base", evaluation: str = "", **values: Any) -> str:
    config = ExportConfig(adapter=adapter, output_dir=Path("mine"), **values)
    return card_of(config, base, "bfloat16", "digest", evaluation)


def rows(folder: Path, curves: list[dict[str, Any]]) -> list[str]:
    """Return the lines of the table, without its head."""
    section = evaluation_of(write_results(folder, curves, {"gatt": "feed"}), "feed")
    return [line for line in section.splitlines() if line.startswith("| ")][2:]


def test_it_says_what_how_rates_licence_and_limits(tmp_path: Path) -> None:
    curves = [record(arm="base", turn=20, rate=0.0, low=0.0, high=0.19), record()]
    evaluation = evaluation_of(write_results(tmp_path / "e", curves, {"gatt": "feed"}), "feed")
    adapter = save_adapter(tmp_path / "adapter", "org/base")
    text = made(adapter, evaluation=evaluation, license="mit")
    data = read_card(text).data
    assert (data.base_model, data.license, data.library_name) == ("org/base", "mit", "transformers")
    heads = [line for line in text.splitlines() if line.startswith("#")]
    assert heads == [
        "# mine", "## Use", "## Evaluation", "## Method", "## Data", "## Training", "## Limits",
        "## Licence",
    ]  # fmt: skip
    assert "merged into its weights (bfloat16)" in text
    assert "`gatt eval`, model: tiny; seed: 3; commit: abc.\n" in text
    (adapter / "README.md").unlink()
    text = made(adapter, "/home/me/base")
    assert read_card(text).data.to_dict() == {
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        "tags": ["ghost-attention", "gatt"],
    }
    assert "/home/me" not in text
    assert "## Evaluation\n\nNone yet." in text
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
        record(turn=20, rate=0.3125), record(rate=0.69, low=0.44, high=0.857), record(arm="base"),
        record(history="own", metric="survival"),
        record(metric="false_trigger", rate=0.0, low=None, high=None), record(arm="other"),
        record(turn=4, rate=None, low=None, high=None), record(family="language"),
        record(metric="repetition"),
    ]  # fmt: skip
    assert rows(tmp_path / "totals", curves) == [
        "| own | survival | all instructions | gatt | 50 [25, 75] (16) |  |",
        "| reference | false_trigger | all instructions | gatt | 0 (16) |  |",
        "| reference | keeps | all instructions | base | 50 [25, 75] (16) |  |",
        "| reference | keeps | all instructions | gatt | 69 [44, 86] (16) | 31 [25, 75] (16) |",
    ]
    # Splits stand apart unless there is one.
    curves = [record(split=s) for s in ("all", "train", "heldout_value")]
    many = rows(tmp_path / "many", curves)
    assert [row.split(" | ")[2] for row in many] == ["all instructions", "seen", "unseen value"]
    (one,) = rows(tmp_path / "one", curves[:2])
    assert "| seen |" in one


def test_the_arm_is_the_one_with_the_weights_of_the_adapter(tmp_path: Path) -> None:
    curves = [record(arm=arm) for arm in ("one", "two", "base")]
    folder = write_results(tmp_path, curves, {"one": "feed", "two": "beef", "three": "dead"})
    assert "| two |" in evaluation_of(folder, "beef")
    assert "| one |" not in evaluation_of(folder, "beef")
    for digest in ("dead", "none"):
        with pytest.raises(DataError, match=f"an adapter with digest {digest}"):
            evaluation_of(folder, digest)


@pytest.mark.parametrize(
    ("text", "fact"),
    [(None, "No such file"), ("[]", "broken"), ('{"schema": 2}', "2, not 3"),
     (f'{{"schema": {RESULTS_SCHEMA}, "run": {{}}}}', "curves")],
)  # fmt: skip
def test_results_that_are_missing_broken_or_of_another_schema(tmp_path, text, fact) -> None:
    assert samples.RESULTS_SCHEMA == RESULTS_SCHEMA
    if text is not None:
        (tmp_path / "results.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=rf"results\.json: broken .*{fact}|{fact}.*gatt eval"):
        evaluation_of(tmp_path, "feed")
