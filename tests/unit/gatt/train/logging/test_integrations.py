"""Every integration of transformers can be named, and a wrong name is one clear line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from transformers.integrations.integration_utils import (
    INTEGRATION_TO_CALLBACK,
    get_available_reporting_integrations,
)
from transformers.trainer_callback import TrainerCallback

from gatt.errors import ConfigError
from gatt.train.arguments import training_arguments
from gatt.train.config import TrainConfig
from gatt.train.logging.integrations import reporting_callbacks, reporting_names
from gatt.train.run import open_store, prepare
from tests.support.models.tiny import sample, save_tiny_model, write_samples

ALL_NAMES = sorted(INTEGRATION_TO_CALLBACK)
MODULE = "gatt.train.logging.integrations"


class Heard(TrainerCallback):
    """Stands for an integration whose package is not installed here."""

    def __init__(self) -> None:
        self.logs: list[dict[str, Any]] = []
        self.is_ready = False

    def on_init_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        # Azure ML, Neptune and CodeCarbon set themselves up here.
        self.is_ready = True

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        self.logs.append(dict(logs))


@pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.parametrize("name", ALL_NAMES)
def test_every_integration_is_made_or_says_what_it_lacks(name: str, tmp_path: Path) -> None:
    if name not in get_available_reporting_integrations():
        with pytest.raises(ConfigError, match=rf"^report_to: '{name}' cannot be used: \S.*'none'$"):
            reporting_callbacks(name, tmp_path)
        return
    made = reporting_callbacks(name, tmp_path)
    assert [type(callback) for callback in made] == [INTEGRATION_TO_CALLBACK[name]]


def test_every_integration_hears_what_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    classes = {name: type(f"Heard{name}", (Heard,), {}) for name in ALL_NAMES}
    monkeypatch.setattr(f"{MODULE}.INTEGRATION_TO_CALLBACK", classes)
    config = TrainConfig(
        model=str(save_tiny_model(tmp_path / "model")),
        samples=(write_samples(tmp_path / "samples.jsonl", [sample(1, 2)]),),
        output_dir=tmp_path / "out",
        max_steps=1,
        gradient_accumulation_steps=1,
        logging_steps=1,
        report_to=tuple(ALL_NAMES),
        disable_tqdm=True,
    )
    args = training_arguments(config)
    trainer = prepare(config, args, open_store(config, args)).trainer
    trainer.train()
    trainer.log_beside({"eval_adherence/turn_20": 0.5, "eval_adherence/seconds": 1.0}, 1.0)
    heard = [c for c in trainer.callback_handler.callbacks if isinstance(c, Heard)]
    assert [type(callback) for callback in heard] == [classes[name] for name in ALL_NAMES]
    for callback in heard:
        assert callback.is_ready
        assert "loss" in callback.logs[0]
        assert callback.logs[-1]["eval_adherence/turn_20"] == 0.5


def test_several_all_and_none(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = f"{MODULE}.get_available_reporting_integrations"
    monkeypatch.setattr(installed, lambda: ["tensorboard", "wandb"])
    assert reporting_names("none") == ()
    assert reporting_names("all") == ("tensorboard", "wandb")
    assert reporting_names(("wandb", "mlflow", "wandb")) == ("wandb", "mlflow")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("tensorbord", r"^report_to: transformers has no integration 'tensorbord', did you mean "
         r"'tensorboard'\? \(known: azure_ml, .*, all, none\)$"),
        (("wandb", "none"), r"^report_to is \['wandb', 'none'\]: expected 'none' alone"),
    ],
)  # fmt: skip
def test_a_wrong_name_is_told_before_anything_is_loaded(
    tmp_path: Path, given: Any, message: str
) -> None:
    config = TrainConfig(samples=(Path("none"),), output_dir=tmp_path / "out", report_to=given)
    with pytest.raises(ConfigError, match=message):
        training_arguments(config)
