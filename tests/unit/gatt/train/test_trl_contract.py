"""What `gatt.train.trainer` leans on inside TRL and transformers: an upgrade that moves it fails here."""

from __future__ import annotations

import inspect

import pytest
from transformers import Trainer
from transformers.integrations import TensorBoardCallback
from transformers.trainer_callback import ProgressCallback
from trl import SFTTrainer

from gatt.train.trainer import RowTrainer


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("compute_loss", ["self", "model", "inputs", "return_outputs", "num_items_in_batch"]),
        ("log", ["self", "logs", "start_time"]),
        ("_get_num_items_in_batch", ["self", "batch_samples", "device"]),
        ("_get_grad_norm", ["self", "model", "grad_norm"]),
        ("_save_checkpoint", ["self", "model", "trial"]),
        (
            "_init_training_state",
            [
                "self", "max_steps", "num_update_steps_per_epoch", "num_train_epochs",
                "resume_from_checkpoint", "trial",
            ],
        ),
        ("_send_telemetry", ["self"]),
        ("create_model_card", None),
    ],
)  # fmt: skip
def test_every_overridden_method_is_still_there(name: str, parameters: list[str] | None) -> None:
    assert name in vars(RowTrainer)
    base = getattr(SFTTrainer, name)
    if parameters is not None:
        assert list(inspect.signature(base).parameters) == parameters


@pytest.mark.parametrize(
    ("caller", "callee"),
    [
        ("_run_epoch", "self._get_grad_norm("),
        ("_run_epoch", "self.get_batch_samples("),
        ("get_batch_samples", "self._get_num_items_in_batch("),
        ("training_step", "num_items_in_batch=num_items_in_batch"),
        ("_inner_training_loop", "self._init_training_state("),
        ("_maybe_log_save_evaluate", "self._save_checkpoint("),
    ],
)
def test_the_loop_still_calls_what_is_overridden(caller: str, callee: str) -> None:
    assert callee in inspect.getsource(getattr(Trainer, caller))


def test_the_loss_that_is_scaled_already_is_not_scaled_again() -> None:
    """By transformers from 5.19 on; before, TRL says it in that library's older words."""
    by_trl = inspect.getsource(inspect.getmodule(SFTTrainer.__mro__[1]))  # type: ignore[arg-type]
    assert "self.loss_is_scaled_for_ga" in inspect.getsource(Trainer.training_step) or (
        "self.loss_is_scaled_for_ga" in by_trl and "self.model_accepts_loss_kwargs" in by_trl
    )


def test_the_norm_comes_before_the_optimiser_step() -> None:
    source = inspect.getsource(Trainer._run_epoch)
    assert source.index("self._get_grad_norm(") < source.index("self.optimizer.step()")


def test_trl_scales_by_the_number_of_processes_as_we_do() -> None:
    source = inspect.getsource(SFTTrainer.compute_loss)
    assert "loss * (self.accelerator.num_processes" in source


def test_the_trainer_s_state_is_the_last_file_of_a_checkpoint() -> None:
    """`gatt.train.run_folder.is_complete` takes it for the mark of a whole checkpoint."""
    source = inspect.getsource(Trainer._save_checkpoint)
    state = source.index("self.state.save_to_json(")
    for earlier in ("self.save_model(", "_save_optimizer_and_scheduler(", "self._save_rng_state("):
        assert source.index(earlier) < state
    assert state < source.index("rotate_checkpoints(")


def test_callbacks_have_what_is_set_on_them() -> None:
    assert "self.logging_dir" in inspect.getsource(TensorBoardCallback.on_train_begin)
    assert {"training_bar", "current_step"} <= set(ProgressCallback.on_step_end.__code__.co_names)
