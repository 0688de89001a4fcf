"""`gatt synth`: dialogues and instructions in, a resumable file of samples out."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from data_synth.batches import MadeRows, PlannedWork, rows_made_here, rows_made_on_cluster
from data_synth.card import CARD_FILE, SYSTEM_REMOVED, write_card
from data_synth.config import SynthConfig
from data_synth.plan.make_plan import plan_samples
from data_synth.plan.plan import Plan
from data_synth.shards.fingerprint import refuse_other_run, run_mark
from data_synth.shards.row_counts import count_rows, no_room
from data_synth.shards.shard import (
    CONFIG_FILE,
    SAMPLES_FILE,
    WHOLE,
    Shard,
    beginning,
    num_planned_rows,
    refuse_foreign,
    refuse_mixture,
)
from gatt.config.load import config_dict, save_config
from gatt.data.dialogue import Dialogue
from gatt.errors import DataError
from gatt.generation.base import Engine, context_tokens
from gatt.generation.config import make_engine
from gatt.runs.atomic_file import atomic_write_json
from gatt.runs.progress import progress_bar
from gatt.runs.provenance import provenance, versions
from gatt.runs.store import RecordStore
from gatt.sources import SourceReport

log = logging.getLogger(__name__)

SOURCE_FILE = "source.json"
RUN_FILES = (CARD_FILE, CONFIG_FILE, SOURCE_FILE)
"""What a run writes beside its samples, for readers."""

Maker = Callable[[PlannedWork, Callable[[int], None]], MadeRows]
"""Makes the rows of batches in order, and tells of turns as they are done."""


@dataclass(frozen=True)
class SynthResult:
    """What a run, or one shard of it, left behind."""

    samples: Path
    num_samples: int
    num_targets: int
    num_turns: int
    num_new: int
    """Samples made by this call; 0 if all stood there already."""


def run_synth(
    config: SynthConfig,
    engine: Callable[[], Engine] | None = None,
    shard: Shard = WHOLE,
) -> SynthResult:
    """Make the samples of a configuration, going on where an earlier call stopped.

    What is redone after an interruption is a batch of the plan, as a whole: with
    the same engine on the same machine the file equals, byte for byte, the one
    of a run that was never interrupted.

    Args:
        config: the whole of it.
        engine: makes the teacher when it is needed; default: the configured one.
            Another one is not looked into: that its model stays the same is up to
            the caller. With `config.ray` it is pickled and called in every worker.
        shard: only these batches, into a file of their own and without a card.

    Raises:
        ConfigError: a source that cannot be had.
        CatalogError: no instruction can be drawn.
        DataError: no dialogue, or no target in any sample of the whole run.
        ModelError: the teacher or its adapter cannot be had.
        StoreError: the folder belongs to another configuration, holds work that
            is divided in another way, or is in use.
    """
    weights = "" if engine else config.teacher.engine.weights_digest()
    catalog = config.instructions.load()
    teacher = _Once(engine or (lambda: _teacher(config)))
    dialogues, report = load_source(config, teacher, weights, shard)
    if num_removed := report.changed[SYSTEM_REMOVED]:
        log.warning(
            "source %s: %d dialogues had a system message of their own, which was removed: the "
            "instruction takes its place; put what must hold into a catalogue entry",
            report.source,
            num_removed,
        )
    plan = plan_samples(
        dialogues,
        catalog,
        config.instructions,
        num_samples=config.num_samples,
        plain_fraction=config.plain_fraction,
        seed=config.seed,
        switch=config.switch,
    )
    mark = run_mark(config, plan, weights)
    refuse_foreign(config.output_dir, RUN_FILES)
    refuse_mixture(config.output_dir, shard)
    with closing(mark.store(config.output_dir, shard)) as store:
        with beginning(config.output_dir, shard):
            refuse_mixture(config.output_dir, shard)
            refuse_other_run(config.output_dir, shard, mark)
            store.open()
            save_config(config, config.output_dir / CONFIG_FILE)
            atomic_write_json(config.output_dir / SOURCE_FILE, report.as_dict())
        num_new = _fill(store, plan, config, shard, _maker(config, engine, teacher))
    limit = context_tokens(teacher.made) if teacher.made else None
    if shard.is_whole:
        return close_run(config, report, num_new, limit)
    return _counted(store.path, num_new, limit)


def load_source(
    config: SynthConfig,
    engine: Callable[[], Engine],
    teacher_weights: str = "",
    shard: Shard = WHOLE,
) -> tuple[list[Dialogue], SourceReport]:
    """Return the dialogues of the configured source; `questions` are answered and kept first.

    Answers that are kept belong to a teacher: to its name and the digest of its
    weights. Of several shards in one folder the first one answers, the others
    wait for it.
    """
    if config.source.name != "questions":
        return config.source.load(config.part)
    from gatt.sources.answered import answered_questions

    source = replace(config.source, num=config.source.num or config.num_samples)
    return answered_questions(
        source.request(),
        config.part,
        engine,
        config.teacher.sampling.params(config.seed),
        config.output_dir / "dialogues.jsonl",
        f"{config.teacher.engine.model} {teacher_weights}",
        waits=not shard.is_whole,
    )


def close_run(
    config: SynthConfig, report: SourceReport, num_new: int, limit: int | None = None
) -> SynthResult:
    """Write the card of a complete run and return what is there.

    Args:
        config: the whole of it.
        report: what became of the source's dialogues.
        num_new: samples that were made just now.
        limit: tokens of the teacher's context, where they are known.

    Raises:
        DataError: not one target; the card says why.
    """
    path = config.output_dir / SAMPLES_FILE
    # Before anything is refused: the card says why draws were rejected.
    write_card(config, path, report)
    result = _counted(path, num_new, limit)
    if not result.num_targets:
        raise DataError(
            f"{path}: none of {result.num_turns} turns has a target, every draw was rejected: see the "
            f"reasons in {path.with_name('README.md')}, or allow more attempts or other families"
        )
    return result


def _fill(
    store: RecordStore,
    plan: Plan,
    config: SynthConfig,
    shard: Shard,
    make: Maker,
) -> int:
    """Append the samples that a shard lacks, as they are made, and return their number."""
    size = (len(plan), config.batch_samples)
    num_done = num_planned_rows(store.path, store, shard.indices(*size))
    num_planned = shard.num_samples(*size)
    if num_done == num_planned:
        return 0
    if num_done:
        log.info("%s: going on after %d of %d samples", store.path, num_done, num_planned)
    # Only the last batch of a plan is shorter than the others.
    num_whole, num_kept = divmod(num_done, config.batch_samples)
    total = plan.num_turns(shard.indices(*size))
    done = plan.num_turns(islice(shard.indices(*size), num_done - num_kept))
    work = PlannedWork(
        config, plan, _provenance(config), lambda: islice(shard.batches(*size), num_whole, None)
    )
    with (
        progress_bar("synth", total, unit="turns", done=done) as bar,
        closing(make(work, bar.advance)) as made,
    ):
        for rows in made:
            for row in rows[num_kept:]:
                store.append(row)
            num_kept = 0
    return num_planned - num_done


def _maker(
    config: SynthConfig, engine: Callable[[], Engine] | None, teacher: Callable[[], Engine]
) -> Maker:
    """Return what makes the rows of batches: the teacher of this process, or workers with one each."""
    if config.ray is None:
        return lambda work, advance: rows_made_here(work, teacher, advance)
    cluster, make = config.ray, _teacher if engine is None else partial(_own, engine)
    return lambda work, advance: rows_made_on_cluster(
        work, cluster, make, advance, is_own_engine=engine is not None
    )


def _counted(path: Path, num_new: int, limit: int | None) -> SynthResult:
    """Return what a file holds, and say which dialogues were too long."""
    found = count_rows(path)
    if found.num_long_turns:
        log.warning("%s: %s", path, no_room(found, limit))
    return SynthResult(path, found.num_samples, found.num_targets, found.num_turns, num_new)


def _own(engine: Callable[[], Engine], _: SynthConfig) -> Engine:
    return engine()


def _teacher(config: SynthConfig) -> Engine:
    adapter = config.teacher.adapter
    return make_engine(config.teacher.engine, {"teacher": adapter} if adapter else None)


class _Once:
    """Makes the teacher when it is first needed."""

    def __init__(self, make: Callable[[], Engine]) -> None:
        self.made: Engine | None = None
        self._make = make

    def __call__(self) -> Engine:
        if self.made is None:
            self.made = self._make()
        return self.made


def _provenance(config: SynthConfig) -> dict[str, Any]:
    return {
        "teacher": config.teacher.engine.model,
        "adapter": config.teacher.adapter or "",
        "sampling": config_dict(config.teacher.sampling),
        "seed": config.seed,
        "versions": {name: version or "" for name, version in versions().items()},
        "commit": (provenance()["commit"] or {}).get("id", ""),
    }
