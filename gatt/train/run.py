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
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from gatt.comb.attention.backend import choose_backend
from gatt.comb.model_support import packing_problem, why_not_packable
from gatt.config.load import config_dict, save_config
from gatt.data.training_marks import TrainedOn, read_marks
from gatt.errors import ConfigError
from gatt.models.adapter import attach_adapter, outside_text
from gatt.models.chat_template import rendered_on, template_of
from gatt.models.load import load_config, load_model, load_tokenizer, require_bitsandbytes
from gatt.models.template_variables import set_template_variables
from gatt.runs.provenance import provenance
from gatt.train.adapter_card import write_adapter
from gatt.train.config import TrainConfig
from gatt.train.data.kept_rows import TrainingRows, forget_rows, rows_of_run
from gatt.train.data.row_report import RowReport
from gatt.train.result import TrainResult, best_so_far, result_so_far, save_adapter
from gatt.train.run_folder import TrainStore, identity
from gatt.train.runtime import current_runtime, from_main, wait_for_everyone
from gatt.train.tracking.evaluators import TrainEvaluator, make_train_evaluator

if TYPE_CHECKING:
    from gatt.train.trainer import GattTrainer

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Prepared:
    """A run that is ready to train."""

    trainer: GattTrainer
    report: RowReport
    store: TrainStore
    trained_on: TrainedOn | None
    """All dialogues that the adapter will have been trained on, None where some are not known."""


def train(config: TrainConfig) -> TrainResult:
    """Train an adapter, go on with an interrupted run, or find it already trained.

    Every process of the run calls it. Interrupted at any moment, it goes on from
    the last checkpoint when it is called again; on one CPU process the result
    is then the same to the bit.

    Raises:
        GattError: see `prepare`.
        StoreError: another run is training into the same folder.
        TrainingError: the loss is NaN or infinite.
    """
    from gatt.train.arguments import training_arguments

    args = training_arguments(config)
    store = open_store(config, args)
    with contextlib.ExitStack() as held:
        # One process decides for all: the folder may change from one look to the next.
        if not from_main(lambda: _claim(config, store, held)):
            log.info("already trained: %s", store.adapter)
            return _recorded(store)
        # No process may write before all have looked.
        wait_for_everyone()
        day = from_main(lambda: _day(config, store))
        with rendered_on(day):
            return _run(config, prepare(config, args, store), day)


def _day(config: TrainConfig, store: TrainStore) -> date:
    """Return the day that chat templates print: that on which the run began."""
    found = (store.read() or {}) if config.resume else {}
    return date.fromisoformat(found["day"]) if "day" in found else _today()


def _today() -> date:
    return datetime.now().astimezone().date()


def _claim(config: TrainConfig, store: TrainStore, held: contextlib.ExitStack) -> bool:
    """Return whether there is something to train; if so, the folder is held from now on."""
    if config.resume and store.is_finished():
        return False
    held.enter_context(store.held())
    # The run that held it until now may have finished it.
    return not (config.resume and store.is_finished())


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
            template=template_of(_tokenizer(config)),
        ),
    )
    store.read()
    return store


def _tokenizer(config: TrainConfig) -> Any:
    """Return the model's tokenizer, with the variables of its chat template set."""
    tokenizer = load_tokenizer(config.model)
    set_template_variables(tokenizer, config.chat_template_kwargs)
    return tokenizer


def prepare(config: TrainConfig, args: Any, store: TrainStore) -> Prepared:
    """Return the trainer of a run with its rows, which are kept in its folder; nothing is trained yet.

    Args:
        config: of the run.
        args: of `gatt.train.arguments.training_arguments`.
        store: of `open_store`.

    Raises:
        ConfigError: several GPUs for one process, settings that the model or the device
            cannot take, or an adapter that does not fit.
        DataError: broken samples, with file and line; broken marks of the first adapter;
            dialogues to track that are trained on.
        CatalogError: a suite to track whose instructions cannot be drawn.
        TrainingError: no sample is left with a token that carries loss, or a larger share of the
            targets would be lost than `max_lost_targets`.
        ModelError: model or first adapter cannot be loaded.
        TemplateError: the model has no chat template under which replies can be learned.
    """
    _refuse_unloaded(config, args)
    earlier = _trained_before(config)
    tokenizer = _tokenizer(config)
    problem = why_not_packable(
        load_config(config.model), config.attn_implementation, config.max_length
    )
    rows = _rows(config, tokenizer, store, problem)
    evaluator = None
    if config.track:
        known = rows.trained_on | earlier if earlier else rows.trained_on
        evaluator = make_train_evaluator(config, known)
    model = _load(config, args)
    if rows.report.layout == "comb":
        problem = packing_problem(model, config.attn_implementation, config.max_length)
        rows = _rows(config, tokenizer, store, problem) if problem else rows
    report = rows.report
    _check_positions(model, config.model, report.num_positions)
    if report.layout == "expanded" and config.attn_implementation is not None:
        _set_attention(model, config.attn_implementation)
    trainer = _trainer(config, args, model, tokenizer, rows)
    if report.layout == "comb":
        trainer.prove_attention(is_asked_for=config.attn_implementation is not None)
    # An adapter of which it is not known what it was trained on makes one of which it is not known either.
    trained_on = None if earlier is None else rows.trained_on | earlier
    prepared = Prepared(trainer, report, store, trained_on)
    if evaluator is not None:
        _track(config, prepared, evaluator)
    return prepared


def _refuse_unloaded(config: TrainConfig, args: Any) -> None:
    """Refuse what needs no model and no data to be seen.

    Raises:
        ConfigError: several GPUs for one process, or an attention that the device has not.
        ModelError: bitsandbytes is needed and not installed.
    """
    if args.n_gpu > 1:
        raise ConfigError(
            f"one process sees {args.n_gpu} GPUs, expected one a process: start it with "
            "`accelerate launch -m gatt.train`, or make one visible with CUDA_VISIBLE_DEVICES=0"
        )
    choose_backend(config.attn_implementation, args.device)
    if config.load_in_4bit:
        require_bitsandbytes()


def _rows(
    config: TrainConfig, tokenizer: Any, store: TrainStore, problem: str | None
) -> TrainingRows:
    """Return the rows of the run, made now or kept of its last start."""
    made = rows_of_run(config, tokenizer, store.folder, store.identity, why_not_packable=problem)
    report = made.report
    log.info(
        "%d samples -> %d rows (%s), %d targets, %d of %d tokens carry loss%s",
        report.num_used, report.num_rows, report.layout, report.num_targets,
        report.num_supervised_tokens, report.num_tokens,
        f", {report.num_kl_tokens} of them by KL" if report.num_kl_tokens else "",
    )  # fmt: skip
    return made


def _load(config: TrainConfig, args: Any) -> Any:
    # Packed rows, which eager never takes, bring an attention of their own.
    is_plain = config.layout == "expanded" or config.attn_implementation == "eager"
    return load_model(
        config.model,
        dtype="bfloat16" if args.bf16 else "float32",
        # In 4 bits it stays where it is loaded.
        device=args.device if config.load_in_4bit else "cpu",
        load_in_4bit=config.load_in_4bit,
        attn_implementation=config.attn_implementation if is_plain else None,
    ).model


def _trainer(
    config: TrainConfig, args: Any, model: Any, tokenizer: Any, rows: TrainingRows
) -> GattTrainer:
    """Return the trainer of a fresh adapter, or of the one to go on from.

    Raises:
        ConfigError: the adapter does not fit the model.
        ModelError: the first adapter cannot be loaded.
    """
    from peft import LoraConfig

    from gatt.train.trainer import GattTrainer

    peft_config = None
    if config.init_adapter is not None:
        model = attach_adapter(
            model, config.init_adapter, base_name=config.model, is_trainable=True
        )
    else:
        _check_rank(model, config)
        settings = config_dict(config.lora)
        if unread := outside_text(model):
            settings["exclude_modules"] = unread
        peft_config = LoraConfig(task_type="CAUSAL_LM", **settings)
    try:
        return GattTrainer(
            model, config, args, rows.rows,
            tokenizer=tokenizer, layout=rows.report.layout, peft_config=peft_config,
        )  # fmt: skip
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(
            f"the adapter does not fit {config.model}: {' '.join(str(error).split())}: check lora"
        ) from None


def _check_positions(model: Any, name: str, num_positions: int) -> None:
    """Refuse rows longer than a table of positions, and warn where rotary positions go on.

    Raises:
        ConfigError: says what the model has.
    """
    most = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if not most or num_positions <= most:
        return
    tables = (m for m in model.modules() if isinstance(m, torch.nn.Embedding))
    # OPT's has two rows more than it says.
    is_learned = any(
        0 <= table.num_embeddings - most <= 2
        for table in tables
        if table is not model.get_input_embeddings()
    )
    told = f"the longest prompt with its target has {num_positions} tokens, {name} {most} positions"
    if is_learned:
        raise ConfigError(f"{told}: set max_length to {most} or less")
    log.warning("%s: it was not made for more; set max_length to %d or less", told, most)


def _check_rank(model: Any, config: TrainConfig) -> None:
    """Refuse a rank that no matrix of the model can have, before memory for it is taken.

    Raises:
        ConfigError: says the largest that adds something.
    """
    sides = (min(w.shape[-2:]) for w in model.parameters() if w.dim() > 1 and w.is_floating_point())
    # Weights that are spread show no shape here, and those in 4 bits another one.
    most = max(sides, default=config.lora.r)
    if config.lora.r > most:
        raise ConfigError(
            f"lora.r is {config.lora.r}: no matrix of {config.model} has a rank above {most}: set it to that "
            "or less"
        )


def _trained_before(config: TrainConfig) -> TrainedOn | None:
    """Return what the first adapter was trained on: nothing without one, None where it does not say.

    Raises:
        DataError: its marks are broken.
    """
    if config.init_adapter is None:
        return TrainedOn.of((), ())
    found = read_marks(config.init_adapter)
    if found is None:
        log.warning(
            "%s does not say which dialogues it was trained on: the adapter made of it will not say "
            "either, and evaluations of both cannot refuse them",
            config.init_adapter,
        )
    elif found.entries is None:
        log.warning(
            "%s does not say which catalogue entries it was trained on: the adapter made of it will not "
            "say either, and only_trained cannot be set for them",
            config.init_adapter,
        )
    return found


def _track(config: TrainConfig, prepared: Prepared, evaluator: TrainEvaluator) -> None:
    """Have the trainer measure its model while it trains, and keep the best adapter.

    Raises:
        ConfigError: a model that cannot be measured while it trains.
    """
    from gatt.train.tracking.callback import AdherenceTracker

    trainer, report, best = prepared.trainer, prepared.report, prepared.store.best_adapter

    def keep(tracked: Mapping[str, Any]) -> None:
        result = {"num_steps": tracked["step"], **result_so_far(trainer), "tracked": tracked}

        def write(draft: Path, target: Path) -> None:
            write_adapter(draft, target, config, report, result, prepared.trained_on)

        save_adapter(trainer, best, write)

    if config.track is not None:
        trainer.add_callback(AdherenceTracker(trainer, evaluator, config.track, best, keep))


def _set_attention(model: Any, attn_implementation: str) -> None:
    """Give a causal LM an attention of transformers, for plain rows; nothing where it has it.

    Raises:
        ConfigError: the model does not have it.
    """
    try:
        if model.config._attn_implementation != attn_implementation:
            model.set_attn_implementation(attn_implementation)
        # A model whose attention is not exchangeable stays as it is, without an error.
        has_it = model.config._attn_implementation == attn_implementation
    except (ValueError, ImportError):
        has_it = False
    if not has_it:
        raise ConfigError(
            f"attn_implementation is {attn_implementation!r}: {type(model).__name__} does not have "
            "it for plain rows (layout 'expanded'): use another, or null for the model's default"
        )


def _run(config: TrainConfig, prepared: Prepared, day: date) -> TrainResult:
    """Train from the last checkpoint on and write the adapter."""
    trainer, report, store = prepared.trainer, prepared.report, prepared.store
    runtime = current_runtime()
    more: dict[str, Any] = {
        "day": day.isoformat(),
        "config": config_dict(config),
        "data": report.as_dict(),
        "provenance": provenance(),
    }
    if runtime.is_main_process:
        store.remove_checkpoints(only_torn=config.resume)
        if not config.resume:
            shutil.rmtree(store.best_adapter, ignore_errors=True)
        store.write("running", **more)
        save_config(config, store.folder / "config.yaml")
    wait_for_everyone()
    checkpoint = store.last_checkpoint()
    if checkpoint is not None:
        log.info("going on from %s", checkpoint)
    start = time.monotonic()
    output = trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    result: dict[str, Any] = {
        "num_steps": int(output.global_step),
        **result_so_far(trainer, float(output.training_loss)),
        "seconds": round(time.monotonic() - start, 1),
        **(from_main(lambda: best_so_far(store)) if config.track else {}),
    }

    def write(draft: Path, target: Path) -> None:
        write_adapter(draft, target, config, report, result, prepared.trained_on)
        store.write("finished", **more, result=result)
        forget_rows(store.folder)

    save_adapter(trainer, store.adapter, write)
    return TrainResult(output_dir=store.folder, adapter=store.adapter, is_new=True, **result)


def _recorded(store: TrainStore) -> TrainResult:
    found = store.read() or {}
    return TrainResult(
        output_dir=store.folder, adapter=store.adapter, is_new=False, **found["result"]
    )
