"""The card of an exported model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from gatt.commands.export.card import ModelFacts, export_card
from gatt.commands.export.evaluation import read_evaluation
from gatt.models.adapter import adapter_rank
from gatt.models.base_card import read_card
from tests.support.models.trained import CARD, record, write_results

FACTS = ModelFacts(
    name="mine", base="org/base", base_id="org/base", license="mit", dtype="bfloat16",
    is_merged=True, digest="feed", rank=8,
)  # fmt: skip


def test_it_says_what_how_numbers_licence_and_limits(tmp_path: Path) -> None:
    curves = [
        record(rate=0.69, low=0.44, high=0.857),
        record(turn=20, rate=0.3125),
        record(arm="base", turn=20, rate=0.0, low=0.0, high=0.19),
        record(metric="false_trigger", rate=0.0, low=None, high=None),
    ]
    text = export_card(FACTS, read_evaluation(write_results(tmp_path, curves)), CARD)
    card = read_card(text)
    assert card.data.base_model == "org/base"
    assert card.data.license == "mit"
    assert card.data.library_name == "transformers"
    assert card.data.pipeline_tag == "text-generation"
    assert len(card.data.eval_results) == 3
    heads = [line for line in text.splitlines() if line.startswith("#")]
    assert heads == [
        "# mine", "## Use", "## Evaluation", "## Method", "## Data", "## Training", "## Limits",
        "## Licence",
    ]  # fmt: skip
    assert "merged into its weights (bfloat16)" in text
    assert "Digest of the adapter: `feed`" in text
    assert (
        "| Adherence | all instructions | this model | 69 [44, 86] (16) | 31 [25, 75] (16) |"
        in text
    )
    assert "| Adherence | all instructions | base model |  | 0 [0, 19] (16) |" in text
    assert "| False triggers | all instructions | this model | 0 (16) |  |" in text
    assert "suite: behaviour; dialogues: chitchat; cases of a split: 16; replies: greedy" in text
    assert "| rows | 16 |" in text
    assert "`mit`. What the base" in text
    assert "/home/me" not in text


def test_without_evaluation_licence_and_adapter_card() -> None:
    facts = replace(FACTS, base="base", base_id=None, license=None, is_merged=False)
    text = export_card(facts, None, "")
    head = yaml.safe_load(text.split("---")[1])
    assert head == {
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        "tags": ["ghost-attention", "gatt"],
    }
    assert "None is recorded here." in text
    assert "That of the base model, `base`: see its page." in text
    assert "--lora-modules gatt=FOLDER/adapter" in text
    assert "- It follows whoever writes turn 1: it is no safety measure." in text
    assert "## Method" not in text


@pytest.mark.parametrize(
    ("settings", "rank", "more"),
    [
        ({"r": 16}, 16, ""),
        ({"r": 17}, 17, " --max-lora-rank 32"),
        ({"r": 8, "rank_pattern": {"q_proj": 64}}, 64, " --max-lora-rank 64"),
        ({"r": 300, "rank_pattern": {}}, 300, " --max-lora-rank 320"),
    ],
)
def test_vllm_is_told_of_a_large_rank(
    tmp_path: Path, settings: dict[str, object], rank: int, more: str
) -> None:
    text = json.dumps({"peft_type": "LORA", **settings})
    (tmp_path / "adapter_config.json").write_text(text, encoding="utf-8")
    assert adapter_rank(tmp_path) == rank
    text = export_card(replace(FACTS, is_merged=False, rank=rank), None, "")
    assert f"vllm serve FOLDER --enable-lora --lora-modules gatt=FOLDER/adapter{more}\n" in text


def test_weights_of_the_embedded_model_are_told_from_those_of_the_hub() -> None:
    text = export_card(replace(FACTS, base="smollm2-135m-instruct"), None, "")
    assert "4-bit weights (Q4_1), unpacked to float32" in text
    assert "4-bit" not in export_card(FACTS, None, "")


def test_an_evaluation_that_decided_nothing_gives_no_index(tmp_path: Path) -> None:
    found = read_evaluation(write_results(tmp_path, [record(rate=None)]))
    assert "model-index" not in export_card(FACTS, found, "")


def test_a_card_is_read_whatever_its_head_is() -> None:
    assert read_card("# plain\n").text.strip() == "# plain"
    assert read_card("---\nlicense: mit\n---\n# x\n").data.license == "mit"
    for head in ("[1, 2]", "a: [", "license: {"):
        card = read_card(f"---\n{head}\n---\n# x\n")
        assert (card.text.strip(), card.data.get("license")) == ("# x", None)
