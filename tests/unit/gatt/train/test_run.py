"""The one training path on a tiny model: what it writes, what it refuses, how it goes on."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from typing import Any

import pytest
from peft import PeftModel
from transformers import MixtralConfig, MixtralForCausalLM

from gatt.commands.train import execute, renew
from gatt.errors import StaleError, StoreError
from gatt.train.config import LoraSettings
from gatt.train.record import read_training
from gatt.train.run import train
from gatt.train.run_folder import FILES, TrainStore, refuse_stale
from gatt.train.trainer import RowTrainer
from tests.support.models.combs import combs_of
from tests.support.models.first_step import ready
from tests.support.models.tiny import (
    sample,
    save_tiny_model,
    tiny_llama,
    tiny_tokenizer,
    write_samples,
)


def test_writes_an_adapter_that_others_can_load(make: Any, model: Path) -> None:
    config = make(report_to="tensorboard")
    result = train(config)
    assert result.is_new
    assert result.num_steps == 2
    assert sorted(p.name for p in result.adapter.iterdir()) == [
        "README.md", "adapter_config.json", "adapter_model.safetensors", "trained_on.json"
    ]  # fmt: skip
    settings = json.loads((result.adapter / "adapter_config.json").read_text(encoding="utf-8"))
    assert settings["base_model_name_or_path"] == str(model)
    loaded = PeftModel.from_pretrained(tiny_llama(tiny_tokenizer()), str(result.adapter))
    assert any("lora_B" in n and w.abs().sum() > 0 for n, w in loaded.named_parameters())
    card = (result.adapter / "README.md").read_text(encoding="utf-8")
    assert "https://arxiv.org/abs/2307.09288" in card
    assert "| samples used, of read | 3 of 3 |" in card
    assert "base_model:" not in card
    assert list((config.output_dir / "logs").glob("events.out.tfevents.*"))
    record = json.loads((config.output_dir / "train.json").read_text(encoding="utf-8"))
    assert record["status"] == "finished"
    assert record["result"]["num_supervised_tokens"] == result.num_supervised_tokens
    assert record["provenance"]["versions"]["trl"]
    told = read_training(result.adapter)
    assert (told.num_steps, told.num_used, told.num_samples) == (2, 3, 3)
    assert told.num_supervised_tokens == result.num_supervised_tokens
    assert [step for step, _ in told.loss] == [1, 2]
    assert sum(loss for _, loss in told.loss) / 2 == pytest.approx(result.train_loss)


def test_an_adapter_outside_a_finished_training_has_none(tmp_path, caplog) -> None:
    adapter = tmp_path / "adapter"
    record = tmp_path / "train.json"
    record.write_text('{"status": "finished", "data": {}}', encoding="utf-8")
    # A name that a server knows, beside somebody's file.
    assert read_training(adapter) is None
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text("{}", encoding="utf-8")
    assert not caplog.records
    assert read_training(adapter) is None
    assert str(record) in caplog.text
    record.write_text('{"status": "running"}', encoding="utf-8")
    caplog.clear()
    assert read_training(adapter) is None
    assert not caplog.records


def test_a_finished_run_is_recognised_and_another_configuration_refused(make: Any) -> None:
    first = train(make())
    weights = first.adapter / "adapter_model.safetensors"
    written = weights.stat().st_mtime_ns
    again = train(make(logging_steps=2))
    assert not again.is_new
    assert again.num_steps == first.num_steps
    assert weights.stat().st_mtime_ns == written
    with pytest.raises(StoreError, match=r"learning_rate 0\.0002\b.*\b0\.1\b"):
        train(make(learning_rate=0.1))
    assert train(make(resume=False)).is_new


def test_a_first_start_that_saved_nothing_leaves_the_folder_to_other_settings(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("transformers.Trainer.train", fail)
        with pytest.raises(KeyboardInterrupt):
            train(make())
    assert (make().output_dir / "train.json").exists()
    assert train(make(learning_rate=0.1)).is_new


def test_other_files_under_the_same_name_are_another_run(make: Any, tmp_path: Path) -> None:
    folder = save_tiny_model(tmp_path / "moved")
    config = make(model=str(folder))
    train(config)
    # The same shapes: the files have the same size.
    tiny_llama(tiny_tokenizer(), seed=5).save_pretrained(folder)
    with pytest.raises(StoreError, match=r"changed: model_digest"):
        train(config)
    refuse_stale(config)
    write_samples(config.samples[0], [sample(9, 2)])
    with pytest.raises(StoreError, match=r"changed: .*samples \["):
        train(config)
    with pytest.raises(StaleError, match=r"changed: samples \[") as refused:
        execute(config)
    # `gatt run` sets the folder aside.
    weights = (config.output_dir / "adapter" / FILES[0]).read_bytes()
    assert str(config.output_dir) in renew(config, refused.value)
    (before,) = config.output_dir.parent.glob(f"{config.output_dir.name}.before*")
    assert (before / "adapter" / FILES[0]).read_bytes() == weights
    assert execute(config).startswith("trained: ")


def test_a_folder_of_something_else_is_refused(make: Any) -> None:
    folder = make().output_dir
    (folder / "checkpoint-3").mkdir(parents=True)
    with pytest.raises(StoreError, match=r"checkpoints without train\.json: choose another"):
        train(make())
    (folder / "train.json").write_text("{", encoding="utf-8")
    with pytest.raises(StoreError, match=r"train\.json: not the record of a training run"):
        train(make())
    other = make(output_dir=folder / "train.json")
    with pytest.raises(StoreError, match="json: cannot write: File exists: choose another"):
        train(other)


def test_a_torn_checkpoint_is_removed(tmp_path: Path) -> None:
    for step, text in ((9, "{}"), (10, '{"global_step": ')):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        (folder / "trainer_state.json").write_text(text, encoding="utf-8")
    TrainStore(tmp_path, {}).remove_checkpoints(only_torn=True)
    assert [p.name for p in tmp_path.iterdir()] == ["checkpoint-9"]


def test_an_error_frees_the_folder(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    config = make()
    with monkeypatch.context() as patch:
        patch.setattr(RowTrainer, "train", None)
        with pytest.raises(TypeError):
            train(config)
    assert train(config).is_new


@pytest.mark.parametrize("saves", ["_save", "_save_optimizer_and_scheduler"])
def test_a_checkpoint_that_the_disk_refuses_is_one_line_and_the_run_goes_on(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, saves: str
) -> None:
    """A limit on the size of files refuses a write as a full disk does, in safetensors and in torch."""
    whole = train(make(output_dir=tmp_path / "whole", max_steps=3, save_steps=1))
    config = make(output_dir=tmp_path / "full", max_steps=3, save_steps=1)
    save, (soft, hard) = getattr(RowTrainer, saves), resource.getrlimit(resource.RLIMIT_FSIZE)

    def refused(trainer: RowTrainer, *args: Any, **kwargs: Any) -> None:
        is_full = trainer.state.global_step == 2
        resource.setrlimit(resource.RLIMIT_FSIZE, (8_000 if is_full else soft, hard))
        try:
            save(trainer, *args, **kwargs)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    with monkeypatch.context() as patch:
        patch.setattr(RowTrainer, saves, refused)
        with pytest.raises(StoreError, match=r"full/checkpoint-2: .*free some space") as raised:
            train(config)
    assert "\n" not in str(raised.value)
    resumed = train(config)
    assert resumed.num_steps == 3
    weights = [run.adapter / "adapter_model.safetensors" for run in (whole, resumed)]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_another_error_while_a_checkpoint_is_saved_stays_what_it_is(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB")

    monkeypatch.setattr(RowTrainer, "_save_optimizer_and_scheduler", fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        train(make(save_steps=1))


def test_the_mean_loss_of_a_run_that_only_lacked_its_adapter(make, tmp_path, monkeypatch) -> None:
    """Stopped between the last checkpoint and the adapter, it must not report a loss of 0."""
    whole = train(make(output_dir=tmp_path / "whole", max_steps=3, save_steps=1))

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    config = make(output_dir=tmp_path / "stopped", max_steps=3, save_steps=1)
    with monkeypatch.context() as patch:
        patch.setattr("gatt.train.run.write_adapter", stop)
        with pytest.raises(KeyboardInterrupt):
            train(config)
    resumed = train(config)
    assert resumed.num_steps == 3
    assert resumed.train_loss == pytest.approx(whole.train_loss, rel=1e-4)


def test_a_mixture_of_experts_trains_on_our_loss_alone(make: Any, tmp_path: Path) -> None:
    folder = tmp_path / "experts"
    tokenizer = tiny_tokenizer()
    tokenizer.save_pretrained(folder)
    config = MixtralConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, num_local_experts=2, num_experts_per_tok=1,
    )  # fmt: skip
    MixtralForCausalLM(config).save_pretrained(folder)
    result = train(
        make(model=str(folder), layout="comb", lora=LoraSettings(target_modules=r".*\.q_proj"))
    )
    assert result.num_steps == 2


def test_the_log_counts_what_was_trained_on(make: Any) -> None:
    config = make(max_steps=-1, num_train_epochs=2.0, gradient_accumulation_steps=2)
    trainer = ready(config)
    trainer.train()
    entries = [e for e in trainer.state.log_history if "loss" in e]
    labels = [sum(comb.num_supervised for comb in combs_of(row)) for row in trainer.train_dataset]
    assert entries[-1]["num_supervised_tokens"] == trainer.num_supervised_tokens == 2 * sum(labels)
    assert all(0 <= e["mean_token_accuracy"] <= 1 for e in entries)
    assert all(e["tokens_per_second"] > 0 for e in entries)
