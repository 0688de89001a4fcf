"""The rows of planned batches, made by the teacher here or by the workers of a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import tee
from typing import Any

from data_synth.config import SynthConfig
from data_synth.plan.plan import Plan, PlannedSample
from data_synth.sampling import sample_batch
from gatt.generation.base import Engine
from gatt.generation.cluster.config import RayConfig
from gatt.generation.cluster.pool import work_on_cluster
from gatt.generation.cluster.same_weights import (
    adapter_anywhere,
    known_anywhere,
    model_digests,
    refuse_other_model,
)

Rows = list[dict[str, Any]]
MadeRows = Generator[Rows, None, None]


@dataclass(frozen=True)
class PlannedWork:
    """Batches of a plan, and what is written on every sample of them."""

    config: SynthConfig
    plan: Plan
    stamp: Mapping[str, Any]
    """Provenance of the samples."""
    batches: Callable[[], Iterator[range]]
    """Starts the batches anew, each as the places of its samples in the plan."""

    def samples(self, batch: range) -> list[PlannedSample]:
        """Return the planned samples of a batch."""
        return self.plan[batch.start : batch.stop]


def rows_made_here(
    work: PlannedWork, engine: Callable[[], Engine], advance: Callable[[int], None]
) -> MadeRows:
    """Yield the rows of each batch; `advance` hears of turns as they are done."""
    for batch in work.batches():
        samples = sample_batch(
            engine(),
            work.samples(batch),
            work.config.teacher,
            seed=work.config.seed,
            provenance=work.stamp,
            on_targets=advance,
        )
        yield [sample.as_dict() for sample in samples]
        num_composed = sum(t.kind == "composed" for s in samples for t in s.targets)
        num_drawn = sum(s.num_targets for s in samples) - num_composed
        if num_left := work.plan.num_turns(batch) - num_drawn:
            advance(num_left)


def rows_made_on_cluster(
    work: PlannedWork,
    cluster: RayConfig,
    make: Callable[[SynthConfig], Engine],
    advance: Callable[[int], None],
    *,
    is_own_engine: bool,
) -> MadeRows:
    """Yield the rows of each batch in the order of the plan, whichever worker made them.

    Args:
        work: the batches.
        cluster: who works on them.
        make: makes the teacher of a configuration in each worker; it is pickled.
        advance: hears of turns as their batch arrives.
        is_own_engine: `make` is the caller's, and its model is not looked into.

    Raises:
        ConfigError: no such cluster.
        GenerationError: what a worker said.
        ModelError: the teacher cannot be read here.
    """
    config = _known_anywhere(work.config)
    teacher = config.teacher
    digests = None if is_own_engine else model_digests(teacher.engine, _adapters(config))
    at_work, arriving = tee(work.batches())
    made = work_on_cluster(
        cluster,
        partial(_sampler, config, work.stamp, make, digests),
        map(work.samples, at_work),
        num_items=sum(1 for _ in work.batches()),
        has_local_model=teacher.engine.server is None and teacher.engine.device != "cpu",
    )
    for batch, rows in zip(arriving, made, strict=True):
        yield rows
        advance(work.plan.num_turns(batch))


def _sampler(
    config: SynthConfig,
    stamp: Mapping[str, Any],
    make: Callable[[SynthConfig], Engine],
    digests: Mapping[str, str] | None,
) -> Callable[[Sequence[PlannedSample]], Rows]:
    """Return, in a worker, what makes the rows of a batch."""
    if digests is not None:
        refuse_other_model(config.teacher.engine, _adapters(config), digests)
    engine = make(config)

    def rows(batch: Sequence[PlannedSample]) -> Rows:
        samples = sample_batch(engine, batch, config.teacher, seed=config.seed, provenance=stamp)
        return [sample.as_dict() for sample in samples]

    return rows


def _known_anywhere(config: SynthConfig) -> SynthConfig:
    teacher = config.teacher
    engine, adapter = teacher.engine, teacher.adapter
    found = adapter and adapter_anywhere(engine, adapter)
    return replace(config, teacher=replace(teacher, engine=known_anywhere(engine), adapter=found))


def _adapters(config: SynthConfig) -> dict[str, str]:
    return {"teacher": config.teacher.adapter} if config.teacher.adapter else {}
