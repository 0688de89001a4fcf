"""What the card of a finished adapter says of its loss and its targets."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, get_args

from gatt.data.sample import TargetKind
from gatt.train.config import DistilSettings, PreferenceSettings, TrainConfig
from gatt.train.data.report import RowReport
from gatt.train.run_folder import model_card


def card(*, train_loss: float | None = None, config: Any = (), **counts: Any) -> str:
    made = TrainConfig(samples=(Path("s.jsonl"),), output_dir=Path("out"), **dict(config))
    result = {"num_steps": 1, "num_supervised_tokens": 2, "train_loss": train_loss}
    return model_card(made, RowReport("comb", **counts), result, {})


def test_the_card_says_how_plain_dialogues_are_learned() -> None:
    held = card(train_loss=1.5, config={"plain_loss": "kl"}, objectives={"targets": 9, "kl": 7})
    assert "| plain_kl_coef | 1 |" in held
    assert "| learned by the KL divergence from the model without the adapter | 7 |" in held
    assert "mean loss 1.5000 (with 1 times the KL divergence)." in held
    taught = card(train_loss=1.5)
    assert "KL" not in taught
    assert "mean loss 1.5000." in taught
    assert "| plain_loss | targets |" in taught


def test_the_card_names_the_settings_of_the_objective() -> None:
    settings = {"objective": "distil", "distil": DistilSettings(direction="reverse", coef=0.5)}
    text = card(config=settings, objectives={"distil": 8}, num_teacher_tokens=99)
    assert "| distil.direction | reverse |" in text
    assert "| distil.coef | 0.5 |" in text
    assert "| tokens that the teacher reads | 99 |" in text
    assert "(reverse KL divergence, `objective: distil`)" in text
    assert "| preference.beta | 0.1 |" in card(config={"objective": "preference"})
    assert "distil" not in card(config={"objective": "preference"})


def test_the_card_names_the_reference_model_of_a_preference() -> None:
    text = card(config={"objective": "preference"})
    assert "with the model without the adapter as the reference" in text
    settings = {
        "objective": "preference",
        "preference": PreferenceSettings(reference="init_adapter"),
        "init_adapter": Path("first"),
    }
    text = card(config=settings)
    assert "with the model with the adapter that training started from as the reference" in text
    assert "without the adapter" not in text


def test_the_card_says_in_words_how_every_kind_of_target_was_made() -> None:
    kinds = get_args(TargetKind)
    text = card(kinds=Counter({kind: n for n, kind in enumerate(kinds, start=1)}))
    assert [x for x in text.splitlines() if "| targets, " in x] == [
        "| targets, own reply as it was | 1 |", "| targets, own reply rewritten | 2 |",
        "| targets, sampled | 3 |", "| targets, with a hint | 4 |", "| targets, beginning given | 5 |",
        "| targets, composed by program | 6 |",
    ]  # fmt: skip
