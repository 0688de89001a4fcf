"""Dialogues in memory: what becomes of a row, and a trainer of them against the one of a file."""

from __future__ import annotations

from dataclasses import replace

import pytest
from datasets import Dataset
from trl import SFTConfig

from gatt import GattTrainer
from gatt.errors import ConfigError, DataError
from gatt.train.dialogues import samples_of
from tests.support.models.tiny import sample, tiny_llama, tiny_tokenizer

TALK = [
    {"role": "system", "content": "Speak French."},
    {"role": "user", "content": "Hello!"},
    {"role": "assistant", "content": "Hi."},
    {"role": "user", "content": "Well?"},
]


def test_a_row_is_a_dialogue_with_its_own_replies_or_with_targets() -> None:
    written = sample(1)
    own, given, plain, made, read = samples_of(
        [
            {"messages": TALK},
            {"id": "b", "messages": TALK, "targets": ("Bonjour !", None)},
            {"messages": TALK[1:3]},
            written,
            written.as_dict(),
        ]
    )
    assert own.instruction is not None
    assert (own.id, own.instruction.text, own.dialogue.has_system) == (
        "row-1",
        "Speak French.",
        False,
    )
    assert [target.reply for target in own.targets] == ["Hi.", None]
    assert (given.id, [target.reply for target in given.targets]) == ("b", ["Bonjour !", None])
    assert given.dialogue.replies == ("Hi.",)
    assert plain.is_plain
    assert made is written
    assert read == written


@pytest.mark.parametrize(
    ("row", "fact"),
    [
        ("Hello!", "row 2: str: expected an object"),
        ({"text": "Hello!"}, "row 2: no 'messages': found 'text'"),
        ({"messages": "Hello!"}, "row 2: 'messages' is str"),
        ({"messages": TALK, "targets": ["a", "b", "c"]}, "row 2: 'targets'"),
        ({"dialogue": {}}, "row 2: no 'instruction'"),
    ],
)
def test_a_row_that_is_no_dialogue(row: object, fact: str) -> None:
    with pytest.raises(DataError, match=fact):
        list(samples_of([{"messages": TALK}, row]))


@pytest.mark.parametrize("as_rows", [list, Dataset.from_list])
def test_it_trains_in_trls_terms(tmp_path, as_rows) -> None:
    tokenizer = tiny_tokenizer()
    args = SFTConfig(
        output_dir=str(tmp_path), learning_rate=3e-3, max_steps=2, gradient_accumulation_steps=1,
        bf16=False, disable_tqdm=True,
    )  # fmt: skip
    rows = as_rows([{"messages": TALK, "targets": ["Bonjour !", "Bien."]} for _ in range(3)])
    trainer = GattTrainer.from_dialogues(
        tiny_llama(tokenizer), tokenizer, rows, args=args, lora={"r": 4}, report_to="none"
    )
    assert trainer.args.learning_rate == 3e-3
    assert trainer.model.peft_config["default"].r == 4
    assert trainer.train().global_step == 2
    targets = ["Bonjour !", "Bien."]
    num = sum(len(tokenizer(text, add_special_tokens=False).input_ids) + 1 for text in targets)
    assert trainer.num_supervised_tokens >= 2 * num
    again = GattTrainer.from_dialogues(
        trainer.model,
        tokenizer,
        [replace(s) for s in samples_of(rows)],
        args=args,
        report_to="none",
    )
    # Three, and rows without loss that fill the batch.
    assert len(again.train_dataset) == args.per_device_train_batch_size


@pytest.mark.parametrize(
    ("changes", "settings", "fact"),
    [
        ({"model": "llama"}, {}, "str 'llama': expected a causal LM"),
        ({"tokenizer": None}, {}, "NoneType 'None': expected its tokenizer"),
        ({}, {"learning_rat": 1}, "learning_rat.*learning_rate"),
        ({}, {"max_steps": "many"}, "max_steps"),
        ({}, {"init_adapter": "runs/a/adapter"}, "init_adapter: read for a model in a folder only"),
    ],
)
def test_wrong_types_are_one_line(changes, settings, fact) -> None:
    tokenizer = tiny_tokenizer()
    given = {"model": tiny_llama(tokenizer), "tokenizer": tokenizer, **changes}
    with pytest.raises(ConfigError, match=fact):
        GattTrainer.from_dialogues(dialogues=[{"messages": TALK}], **given, **settings)
