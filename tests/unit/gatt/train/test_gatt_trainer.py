"""`GattTrainer` as TRL's trainers are called: what it takes over, and what it refuses in one line."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from datasets import Dataset, DatasetDict
from peft import LoraConfig, get_peft_model
from transformers import AutoModel
from transformers.trainer_callback import TrainerCallback
from trl import SFTConfig

from gatt import GattTrainer
from gatt.errors import ConfigError, GattError
from gatt.train.config import LoraSettings
from gatt.train.run import train
from tests.support.models.tiny import sample, tiny_llama, tiny_tokenizer
from tests.unit.gatt.train.test_dialogues import TALK

DIALOGUES = [{"messages": TALK, "targets": ["Bonjour !", "Bien."]} for _ in range(3)]
LORA = LoraConfig(task_type="CAUSAL_LM", r=4, target_modules="all-linear")


def trls(folder: Any, **changes: Any) -> SFTConfig:
    settings: dict[str, Any] = {"max_steps": 2, "bf16": False, "disable_tqdm": True, **changes}
    return SFTConfig(output_dir=str(folder), **settings)


class Steps(TrainerCallback):
    def __init__(self) -> None:
        self.num = 0

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.num += 1


@pytest.mark.parametrize("as_rows", [list, Dataset.from_list])
def test_it_trains_in_trls_terms(tmp_path, as_rows) -> None:
    tokenizer, steps = tiny_tokenizer(), Steps()
    args = trls(
        tmp_path, learning_rate=3e-3, per_device_train_batch_size=2, adam_beta2=0.9, max_length=None,
        save_strategy="no", lr_scheduler_type="constant_with_warmup",
    )  # fmt: skip
    trainer = GattTrainer(
        model=tiny_llama(tokenizer), args=args, train_dataset=as_rows(DIALOGUES),
        processing_class=tokenizer, peft_config=LORA, callbacks=[steps],
    )  # fmt: skip
    assert trainer.model.peft_config["default"].r == 4
    assert trainer.train().global_step == steps.num == 2
    # What TRL alone knows holds as well, and the user's own settings are as they were.
    assert trainer.optimizer.defaults["betas"][1] == 0.9
    assert trainer.args.gradient_checkpointing
    assert not list(tmp_path.glob("checkpoint-*"))
    assert (args.dataset_kwargs, args.remove_unused_columns) == (None, True)
    num = sum(
        len(tokenizer(t, add_special_tokens=False).input_ids) + 1 for t in ("Bonjour !", "Bien.")
    )
    # Three rows of these targets, and one without loss.
    assert len(trainer.train_dataset) == 4
    assert trainer.num_supervised_tokens == 3 * num
    trainer.save_model(str(tmp_path / "adapter"))
    assert (tmp_path / "adapter" / "adapter_model.safetensors").is_file()


def test_it_trains_as_a_run_does_to_the_bit(make: Any, tmp_path, model) -> None:
    """By the model's name, with all settings at once, on the samples of a file."""
    config = make(lora=LoraSettings(r=4), learning_rate=1e-2)
    run = train(config)
    trainer = GattTrainer(str(model), config, train_dataset=[sample(i, 2) for i in range(3)])
    trainer.train()
    trainer.save_model(str(tmp_path / "adapter"))
    found, expected = (
        (folder / "adapter_model.safetensors").read_bytes()
        for folder in (tmp_path / "adapter", run.adapter)
    )
    assert found == expected


def test_it_goes_on_with_an_adapter_and_takes_settings_of_this_project(tmp_path) -> None:
    tokenizer = tiny_tokenizer()
    adapted = get_peft_model(tiny_llama(tokenizer), LORA)
    given: dict[str, Any] = {"train_dataset": DIALOGUES, "processing_class": tokenizer}
    trainer = GattTrainer(adapted, trls(tmp_path), **given, layout="expanded", history="sampled")
    assert trainer.data_collator.layout == "expanded"
    assert trainer.model is adapted
    for weight in adapted.parameters():
        weight.requires_grad_(False)
    with pytest.raises(ConfigError, match=r"frozen.*is_trainable=True"):
        GattTrainer(adapted, trls(tmp_path), **given)
    with pytest.raises(ConfigError, match="peft_config: the model has an adapter"):
        GattTrainer(adapted, trls(tmp_path), **given, peft_config=LORA)


@pytest.mark.parametrize(
    ("changes", "facts"),
    [
        ({"model": torch.nn.Linear(2, 2)}, ["model is Linear", "causal LM"]),
        ({"model": None}, ["model is NoneType"]),
        ({"model": "./nowhere"}, ["./nowhere"]),
        ({"processing_class": "llama"}, ["processing_class is str 'llama'", "tokenizer"]),
        ({"train_dataset": None}, ["train_dataset is NoneType"]),
        ({"train_dataset": "dialogues.jsonl"}, ["train_dataset is str"]),
        ({"train_dataset": DatasetDict()}, ["train_dataset is DatasetDict"]),
        ({"train_dataset": [3]}, ["row 1: int"]),
        ({"peft_config": {"r": 4}}, ["peft_config is dict", "LoraConfig"]),
        ({"peft_config": LORA, "lora": {"r": 4}}, ["lora and peft_config"]),
        ({"peft_config": LoraConfig(target_modules=["no"])}, ["the adapter does not fit", "no"]),
        ({"lora": {"r": 10**6}}, ["lora.r is 1000000"]),
        ({"lora": object()}, ["lora is object"]),
        ({"args": {"max_steps": 2}}, ["args is dict", "SFTConfig"]),
        ({"learning_rate": 1e-3}, ["learning_rate: expected within args"]),
        ({"objectiv": "distil"}, ["objectiv", "objective"]),
        ({"history": "owned"}, ["'history' is 'owned'"]),
        ({"init_adapter": "runs/a/adapter"}, ["init_adapter: read for files only"]),
    ],
)
def test_wrong_types_are_one_line(tmp_path, changes: dict[str, Any], facts: list[str]) -> None:
    tokenizer = tiny_tokenizer()
    given: dict[str, Any] = {
        "model": tiny_llama(tokenizer), "args": trls(tmp_path), "train_dataset": DIALOGUES,
        "processing_class": tokenizer,
    }  # fmt: skip
    with pytest.raises(GattError) as refused:
        GattTrainer(**{**given, **changes})
    assert all(fact in str(refused.value) for fact in facts)
    assert "\n" not in str(refused.value)


def test_a_model_without_a_head_and_settings_of_a_run_are_refused(make: Any, model) -> None:
    with pytest.raises(ConfigError, match="model is LlamaModel"):
        GattTrainer(AutoModel.from_pretrained(model))
    with pytest.raises(ConfigError, match="objective: expected within args, a TrainConfig"):
        GattTrainer(str(model), make(), objective="distil")
    with pytest.raises(ConfigError, match="args: load_in_4bit: read for files only"):
        GattTrainer(str(model), make(load_in_4bit=True))


@pytest.mark.parametrize(
    "changes",
    [{"packing": True}, {"eval_strategy": "steps", "eval_steps": 1}, {"loss_type": "dft"}],
)
def test_settings_of_trl_without_effect_are_refused(tmp_path, changes: dict[str, Any]) -> None:
    tokenizer = tiny_tokenizer()
    with pytest.raises(ConfigError, match=f"args: {next(iter(changes))} is .*, expected "):
        GattTrainer(
            tiny_llama(tokenizer), trls(tmp_path, **changes), train_dataset=DIALOGUES,
            processing_class=tokenizer,
        )  # fmt: skip
