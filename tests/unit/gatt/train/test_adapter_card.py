"""What the card of a finished adapter says of its base model."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from gatt.data.sample import TargetKind
from gatt.train.adapter_card import model_card
from gatt.train.config import TrainConfig
from gatt.train.data.row_report import RowReport


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("org/name", "base_model: org/name"),
        ("smollm2-135m-instruct", "base_model: HuggingFaceTB/SmolLM2-135M-Instruct"),
        ("models/llama", None),
        ("./name", None),
        ("a/b c", None),
    ],
)
def test_a_base_is_named_only_if_the_hub_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, said: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("models/llama").mkdir(parents=True)
    config = TrainConfig(model=model, samples=(Path("s.jsonl"),), output_dir=Path("out"))
    result = {"num_steps": 1, "num_supervised_tokens": 2, "train_loss": None}
    head = model_card(config, RowReport("comb"), result, {}).split("---\n")[1]
    assert [line for line in head.splitlines() if line.startswith("base_model")] == (
        [said] if said else []
    )


def test_the_card_says_how_plain_dialogues_are_learned() -> None:
    result = {"num_steps": 1, "num_supervised_tokens": 2, "train_loss": 1.5}
    report = RowReport("comb", num_kl_tokens=7)
    held = TrainConfig(samples=(Path("s.jsonl"),), output_dir=Path("out"), plain_loss="kl")
    card = model_card(held, report, result, {})
    assert "no token of the history carries any. So in dialogues with an instruction; those" in card
    assert "| plain_kl_coef | 1 |" in card
    assert "| learned by the KL divergence | 7 |" in card
    assert "mean loss 1.5000 (with 1 times the KL divergence)." in card
    taught = TrainConfig(samples=(Path("s.jsonl"),), output_dir=Path("out"))
    card = model_card(taught, RowReport("comb"), result, {})
    assert "KL" not in card
    assert "mean loss 1.5000." in card
    assert "| plain_loss | targets |" in card


def test_the_card_says_in_words_how_every_kind_of_target_was_made() -> None:
    kinds = get_args(TargetKind)
    report = RowReport("comb", kinds=Counter({kind: n for n, kind in enumerate(kinds, start=1)}))
    config = TrainConfig(samples=(Path("s.jsonl"),), output_dir=Path("out"))
    result = {"num_steps": 1, "num_supervised_tokens": 2, "train_loss": None}
    lines = [x for x in model_card(config, report, result, {}).splitlines() if "| targets, " in x]
    assert lines == [
        "| targets, as drawn | 1 |",
        "| targets, teacher told a hint | 2 |",
        "| targets, beginning given | 3 |",
        "| targets, sentence of the instruction added | 4 |",
    ]
    assert len(lines) == len(kinds)
