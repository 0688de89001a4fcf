"""The one training path: samples in, a LoRA adapter out.

Every way to start it comes here: `gatt train`, `accelerate launch -m gatt.train`
and `accelerate launch scripts/train.py`, with one process or many.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformers.trainer_utils import get_last_checkpoint

from gatt.comb.attention.backend import choose_backend
from gatt.comb.model_support import packing_problem, why_not_packable
from gatt.config.load import config_dict, save_config
from gatt.data.training_marks import TrainedOn, read_marks
from gatt.models.adapter import attach_adapter
from gatt.models.chat_template import printed_day, rendered_on, template_of
from gatt.models.load import load_model, load_model_config, load_tokenizer, require_bitsandbytes
from gatt.runs.input_file import read_json
from gatt.runs.provenance import provenance
from gatt.train.config import TrainConfig
from gatt.train.data.kept_rows import forget_rows, rows_of_run
from gatt.train.data.report import RowReport
from gatt.train.run_folder import (
    BEST_ADAPTER,
    FILES,
    TRACKED,
    TrainStore,
    identity,
    write_adapter,
)  # fmt: skip
from gatt.train.runtime import current_runtime, from_main, wait_for_everyone

if TYPE_CHECKING:
    from gatt.train.trainer import RowTrainer

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class TrainResult:
    """What a training run gave."""

    output_dir: Path
    adapter: Path
    """The folder that `gatt.models.load.load_adapter` takes."""
    is_new: bool
    """False where the same run was already finished, and nothing was done."""
    num_steps: int
    train_loss: float
    """Mean over the logged optimiser steps."""
    num_supervised_tokens: int
    """Trained on, over all epochs and resumes."""
    seconds: float
    """Of this start."""
    best_step: int | None = None
    """Of the adapter that adhered best, if that was tracked."""
    best_adherence: float | None = None
    """Its adherence at the last tracked turn."""

    @property
    def best_adapter(self) -> Path | None:
        """Its folder."""
        return None if self.best_step is None else self.output_dir / BEST_ADAPTER


@dataclass(frozen=True)
class PreparedRun:
    """A run that is ready to train."""

    config: TrainConfig
    trainer: RowTrainer
    report: RowReport
    store: TrainStore
    trained_on: TrainedOn | None
    """All dialogues that the adapter will have been trained on, None where some are not known."""

    def save_adapter(self, target: Path, result: Mapping[str, Any]) -> None:
        """Save the adapter as it is; every process calls it."""
        draft = target.with_name(f".{target.name}.tmp")
        is_main = current_runtime().is_main_process
        if is_main:
            shutil.rmtree(draft, ignore_errors=True)
        wait_for_everyone()
        self.trainer.save_model(str(draft))
        if is_main:
            write_adapter(draft, target, self.config, self.report, result, self.trained_on)
        wait_for_everyone()


def train(config: TrainConfig) -> TrainResult:
    """Train an adapter, go on with an interrupted run, or find it already trained.

    Every process of the run calls it. Interrupted at any moment, it goes on from
    the last checkpoint when it is called again; on one CPU process the result
    is then the same to the bit.

    Raises:
        StoreError: another run is training into the same folder.
        TrainingError: the loss is NaN or infinite.
    """
    from gatt.train.arguments import training_arguments

    args = training_arguments(config)
    store = from_main(lambda: open_store(config, args))
    with contextlib.ExitStack() as held:
        # One process decides for all: the folder may change from one look to the next.
        record = from_main(lambda: _claim(config, store, held))
        if "result" in record:
            log.info("already trained: %s", store.adapter)
            return TrainResult(
                output_dir=store.folder, adapter=store.adapter, is_new=False, **record["result"]
            )
        day = date.fromisoformat(record["day"])
        with rendered_on(day):
            return _run(prepare(config, args, store), day)


def _claim(config: TrainConfig, store: TrainStore, held: contextlib.ExitStack) -> dict[str, Any]:
    """Hold the folder; return its record if it is done, else the day on which the run began.

    Chat templates print that day.
    """
    held.callback(store.lock().release)
    record = (store.read() or {}) if config.resume else {}
    if record.get("status") == "finished" and (store.adapter / FILES[0]).is_file():
        return record
    return {"day": record.get("day", printed_day().isoformat())}


def open_store(config: TrainConfig, args: Any) -> TrainStore:
    """Return the output folder of a run, checked to be its own.

    Raises:
        StoreError: it belongs to another configuration, or samples cannot be read.
        ModelError: the tokenizer cannot be loaded.
        TemplateError: its chat template has no variable of `chat_template_kwargs`.
    """
    store = TrainStore(
        config.output_dir,
        identity(
            config,
            world_size=current_runtime().num_processes,
            bf16=bool(args.bf16),
            template=template_of(load_tokenizer(config.model, config.chat_template_kwargs)),
        ),
    )
    store.read()
    return store


def prepare(config: TrainConfig, args: Any, store: TrainStore) -> PreparedRun:
    """Return the trainer of a run with its rows, which are kept in its folder; nothing is trained yet.

    Raises:
        ConfigError: settings that the model or the device cannot take, or an adapter that does not fit.
        DataError: broken samples or marks of the first adapter; dialogues to track that are trained on.
        CatalogError: a suite to track whose instructions cannot be drawn.
        TrainingError: too little is left to learn (`gatt.train.data.report.refuse_too_few`).
        ModelError: model or first adapter cannot be loaded.
        TemplateError: the model has no chat template under which replies can be learned.
    """
    from gatt.train.trainer import RowTrainer

    wanted = config.attn_implementation
    choose_backend(wanted, args.device)
    if config.load_in_4bit:
        require_bitsandbytes()
    earlier = _trained_before(config)
    tokenizer = load_tokenizer(config.model, config.chat_template_kwargs)
    problem = why_not_packable(load_model_config(config.model), wanted, config.max_length)
    made = partial(rows_of_run, config, tokenizer, store.folder, store.identity)
    rows = made(why_not_packable=problem)
    evaluator = None
    if config.track:
        from gatt.train.tracking import make_train_evaluator

        seen = rows.trained_on | earlier if earlier else rows.trained_on
        evaluator = make_train_evaluator(config, seen)
    model = load_model(
        config.model,
        dtype="bfloat16" if args.bf16 else "float32",
        # In 4 bits it stays where it is loaded.
        device=args.device if config.load_in_4bit else "cpu",
        load_in_4bit=config.load_in_4bit,
        # Packed rows bring an attention of their own.
        attn_implementation=wanted if rows.report.layout == "expanded" else None,
    ).model
    if rows.report.layout == "comb":
        problem = packing_problem(model, wanted, config.max_length)
        if problem:
            rows = made(why_not_packable=problem)
            if wanted:
                model.set_attn_implementation(wanted)
    report = rows.report
    model = _with_first_adapter(model, config)
    trainer = RowTrainer(model, config, args, rows.rows, report, tokenizer=tokenizer)
    # An adapter of which it is not known what it was trained on makes one of which it is not known either.
    trained_on = None if earlier is None else rows.trained_on | earlier
    prepared = PreparedRun(config, trainer, report, store, trained_on)
    if evaluator is not None and config.track:
        from gatt.train.tracking import AdherenceTracker

        def keep(tracked: Mapping[str, Any]) -> None:
            result = {"num_steps": tracked["step"], **_so_far(trainer), "tracked": tracked}
            prepared.save_adapter(store.best_adapter, result)

        trainer.add_callback(
            AdherenceTracker(trainer, evaluator, config.track, store.best_adapter, keep)
        )
    return prepared


def _with_first_adapter(model: Any, config: TrainConfig) -> Any:
    """Return the model with the adapter to go on from; the model itself where there is none.

    Raises:
        ModelError: the adapter cannot be loaded.
    """
    if config.init_adapter is None:
        return model
    model = attach_adapter(model, config.init_adapter, base_name=config.model, is_trainable=True)
    # At each save PEFT looks for the base model by this name: the adapter may hold one that only this
    # project knows.
    for adapter in model.peft_config.values():
        adapter.base_model_name_or_path = model.get_base_model().name_or_path
    return model


def _trained_before(config: TrainConfig) -> TrainedOn | None:
    """Return what `init_adapter` was trained on: nothing without one, None if it has no record.

    Raises:
        DataError: its marks are broken.
    """
    if config.init_adapter is None:
        return TrainedOn.of((), ())
    marks = read_marks(config.init_adapter)
    if marks is None or marks.entries is None:
        log.warning(
            "%s does not say which %s it was trained on: the adapter made of it will not say either",
            config.init_adapter, "dialogues" if marks is None else "catalogue entries",
        )  # fmt: skip
    return marks


def _run(prepared: PreparedRun, day: date) -> TrainResult:
    """Train from the last checkpoint on and write the adapter."""
    config, trainer, store = prepared.config, prepared.trainer, prepared.store
    facts: dict[str, Any] = {
        "day": day.isoformat(),
        "config": config_dict(config),
        "data": prepared.report.as_dict(),
        "provenance": provenance(),
    }
    is_main = current_runtime().is_main_process
    if is_main:
        store.remove_checkpoints(only_torn=config.resume)
        if not config.resume:
            shutil.rmtree(store.best_adapter, ignore_errors=True)
        store.write("running", **facts)
        save_config(config, store.folder / "config.yaml")
    wait_for_everyone()
    checkpoint = get_last_checkpoint(str(store.folder))
    if checkpoint is not None:
        log.info("going on from %s", checkpoint)
    start = time.monotonic()
    output = trainer.train(resume_from_checkpoint=checkpoint)
    result: dict[str, Any] = {
        "num_steps": int(output.global_step),
        **_so_far(trainer, float(output.training_loss)),
        "seconds": round(time.monotonic() - start, 1),
    }
    record = store.best_adapter / TRACKED
    if config.track and from_main(record.is_file):
        best = read_json(record)
        result["best_step"] = best["step"]
        result["best_adherence"] = best["adherence"][str(best["turn"])]
    prepared.save_adapter(store.adapter, result)
    if is_main:
        store.write("finished", **facts, result=result)
        forget_rows(store.folder)
    wait_for_everyone()
    return TrainResult(output_dir=store.folder, adapter=store.adapter, is_new=True, **result)


def _so_far(trainer: RowTrainer, otherwise: float | None = None) -> dict[str, Any]:
    """Return the mean loss of the logged steps of all starts, and the tokens.

    The trainer's own mean, `otherwise`, is of this start alone: 0 for a run that was stopped
    between its last step and its adapter.
    """
    total, last = 0.0, 0
    for entry in trainer.state.log_history:
        if "loss" in entry:
            total += entry["loss"] * (entry["step"] - last)
            last = entry["step"]
    return {
        "train_loss": total / last if last else otherwise,
        "num_supervised_tokens": trainer.num_supervised_tokens,
    }
