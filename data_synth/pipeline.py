"""`gatt synth`: dialogues and instructions in, a resumable file of samples out.

The rows are made in batches, by this process or by the workers of Ray.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from functools import cache, partial
from typing import Any

from data_synth.config import SynthConfig
from data_synth.drafts import DRAFTS_FILE, DraftingEngine
from data_synth.filters import REASONS
from data_synth.plan import Plan, PlannedSample, plan_samples, sample_id
from data_synth.reuse import keep_earlier, order_of
from data_synth.run_folder import (
    CARD_FILE,
    CONFIG_FILE,
    SAMPLES_FILE,
    SOURCE_FILE,
    SynthResult,
    fingerprinted,
    made_with,
    num_stored,
    refuse_foreign,
    write_card,
)
from data_synth.sampling import sample_batch
from gatt.config.load import save_config
from gatt.data.dialogue import Dialogue
from gatt.errors import DataError
from gatt.generation.base import Engine
from gatt.generation.cluster.pool import EngineAnywhere, work_on_cluster
from gatt.generation.config import make_engine
from gatt.runs.atomic_file import atomic_write_json
from gatt.runs.progress import progress_bar
from gatt.runs.provenance import fingerprint
from gatt.runs.store import RecordStore
from gatt.sources.base import SourceReport
from gatt.sources.load import load_dialogues

log = logging.getLogger(__name__)
SampleRows = list[dict[str, Any]]


def _worker(
    config: SynthConfig, provenance: Mapping[str, Any], make: Callable[[], Engine]
) -> Callable[[Sequence[PlannedSample]], SampleRows]:
    """Return, in a worker, the function that makes the rows of a batch."""
    return partial(_rows, config, provenance, make())


def _rows(
    config: SynthConfig,
    provenance: Mapping[str, Any],
    teacher: Engine,
    batch: Sequence[PlannedSample],
) -> SampleRows:
    made = sample_batch(
        teacher, batch, config.resolved_teacher, seed=config.seed, provenance=provenance
    )
    return [sample.as_dict() for sample in made]


def _adapters(config: SynthConfig) -> dict[str, str]:
    return {"teacher": config.teacher.adapter} if config.teacher.adapter else {}


def run_synth(config: SynthConfig, engine: Callable[[], Engine] | None = None) -> SynthResult:
    """Make the samples of a configuration, going on where an earlier call stopped.

    Where dialogues, instructions or their number changed since, samples of the same dialogue and instruction
    stay, and the others are drawn (`data_synth.reuse`).

    What was drawn for an unfinished batch is stored beside the samples (without `config.ray`), so that an
    interruption loses at most one portion of a local model's draws, or what is on its way from a server. With
    the same engine on the same machine the file equals, byte for byte, the one of a run that was never
    interrupted.

    Args:
        config: the whole of it.
        engine: makes the teacher when it is needed; default: the configured one. The
            weights of another one are not checked: that they stay the same is up to the
            caller. With `config.ray` it is pickled and called in every worker.

    Raises:
        ConfigError: the source cannot be read, or there is no such Ray cluster.
        CatalogError: no instruction can be drawn.
        DataError: no dialogue, or no target in any sample.
        GenerationError: the teacher gave no reply.
        ModelError: the teacher or its adapter cannot be loaded.
        StoreError: the folder belongs to another configuration, holds other files or is in
            use, or its disk is full.
    """
    weights = "" if engine else config.teacher.engine.weights_digest()
    catalog = config.instructions.load()
    teacher = cache(engine or partial(make_engine, config.teacher.engine, _adapters(config)))
    dialogues, report = load_source(config, teacher, weights)
    plan = plan_samples(dialogues, catalog, config)
    made = {"digest": plan.digest, "num_turns": plan.num_turns(range(len(plan)))}
    settings = fingerprinted(config) | {"teacher_weights": weights, "plan": made}
    settings["own_kinds"] = catalog.own_kinds
    refuse_foreign(config.output_dir)
    path = config.output_dir / SAMPLES_FILE
    mark = fingerprint(settings)
    keep_earlier(path, plan, mark, settings)
    with RecordStore(path, fingerprint=mark, kind="sample", describe=settings) as store:
        save_config(config, config.output_dir / CONFIG_FILE)
        atomic_write_json(config.output_dir / SOURCE_FILE, report.as_dict())
        num_new = _append_missing(store, plan, config, engine, teacher)
    counts = write_card(config, path, report)
    if ended := counts.with_words("ended"):
        words = ", ".join(f"{name} {counts.refused[name]}" for name in ended)
        log.warning("%s: %s: %s", path, words, REASONS["ended"])
    if not counts.num_targets:
        raise DataError(
            f"{path}: none of {counts.num_turns} turns has a target, every draw was rejected, most often as "
            f"{counts.most_frequent()}: see the reasons in {path.with_name(CARD_FILE)}, or allow more attempts "
            "or other families"
        )
    return SynthResult(path, counts.num_samples, counts.num_targets, counts.num_turns, num_new)


def load_source(
    config: SynthConfig, engine: Callable[[], Engine], teacher_weights: str = ""
) -> tuple[list[Dialogue], SourceReport]:
    """Return the dialogues of the configured source; `questions` are answered and stored first.

    Stored answers belong to one teacher: to its name and the digest of its weights.
    """
    if config.source.name != "questions":
        return load_dialogues(config.source, config.part)
    from gatt.sources.questions import answered_questions

    return answered_questions(
        config.source,
        config.part,
        config.num_samples,
        engine,
        config.teacher.sampling.params(config.seed),
        config.output_dir / "dialogues.jsonl",
        f"{config.teacher.engine.model} {teacher_weights}",
    )


def _append_missing(
    store: RecordStore,
    plan: Plan,
    config: SynthConfig,
    engine: Callable[[], Engine] | None,
    teacher: Callable[[], Engine],
) -> int:
    """Append the samples that the store lacks, as they are made, and return their number."""
    num_samples, size = len(plan), config.batch_size
    order, num_earlier = order_of(store.path, num_samples)
    num_done = num_stored(store, num_samples, lambda place: sample_id(order[place]))
    if num_done == num_samples:
        return 0
    if num_done:
        log.info("%s: going on after %d of %d samples", store.path, num_done, num_samples)
    # The rows of an unfinished batch are made again; its first `num_kept` rows are stored already.
    num_kept = (num_done - num_earlier) % size
    first = num_done - num_kept
    batches = [order[n : n + size] for n in range(first, num_samples, size)]
    drafts = DraftingEngine(
        teacher,
        config.output_dir / DRAFTS_FILE,
        str(store.meta["fingerprint"]),
        None if config.teacher.engine.server else config.teacher.engine.max_rows,
    )
    num_turns, num_turns_done = plan.num_turns(order), plan.num_turns(order[:first])
    with (
        progress_bar("synth", num_turns, unit="turns", done=num_turns_done) as bar,
        closing(_made(config, plan, batches, engine, drafts)) as made,
    ):
        for batch, rows in zip(batches, made, strict=True):
            for row in rows[num_kept:]:
                store.append(row)
            num_kept = 0
            drafts.done()
            bar.advance(plan.num_turns(batch))
    return num_samples - num_done


def _made(
    config: SynthConfig,
    plan: Plan,
    batches: Sequence[Sequence[int]],
    engine: Callable[[], Engine] | None,
    teacher: Engine,
) -> Generator[SampleRows, None, None]:
    """Yield the rows of each batch in the order of the plan, made here or by the workers of `config.ray`.

    In each worker `engine`, which is pickled, makes the teacher. None: the configured teacher, whose
    weights must be the same on every machine.

    Raises:
        ConfigError: no such cluster.
        GenerationError: the teacher gave no reply; also the error of a worker.
        ModelError: the teacher cannot be read here.
    """
    teacher_config = config.teacher
    made_by = made_with(
        teacher_config.engine.model, teacher_config.adapter, teacher_config.sampling, config.seed
    )
    planned = ([plan[index] for index in batch] for batch in batches)
    if config.ray is None:
        for samples in planned:
            yield _rows(config, made_by, teacher, samples)
        return
    engine_config = teacher_config.engine
    make = engine or EngineAnywhere.of(engine_config, _adapters(config))
    yield from work_on_cluster(
        config.ray,
        partial(_worker, config, made_by, make),
        planned,
        num_items=len(batches),
        has_local_model=engine_config.server is None and engine_config.device != "cpu",
    )
