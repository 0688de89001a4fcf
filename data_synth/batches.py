"""The rows of planned batches, made by this process or by the workers of Ray."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from data_synth.config import SynthConfig
from data_synth.plan import Plan, PlannedSample
from data_synth.sampling import sample_batch
from gatt.generation.base import Engine
from gatt.generation.cluster.pool import EngineAnywhere, work_on_cluster
from gatt.generation.config import make_engine

Rows = list[dict[str, Any]]
MadeRows = Generator[Rows, None, None]


@dataclass(frozen=True)
class PlannedWork:
    """Batches of a plan, and what every sample of them carries."""

    config: SynthConfig
    plan: Plan
    provenance: Mapping[str, Any]
    batches: Sequence[range]
    """Each batch as the places of its samples in the plan."""


def make_teacher(config: SynthConfig) -> Engine:
    """Return the configured teacher.

    Raises:
        ModelError: the model or its adapter cannot be loaded.
    """
    return make_engine(config.teacher.engine, _adapters(config))


def rows_made_here(
    work: PlannedWork, teacher: Callable[[], Engine], on_turns: Callable[[int], None]
) -> MadeRows:
    """Yield the rows of each batch.

    Args:
        work: the batches.
        teacher: returns the teacher, the same one at every call.
        on_turns: is called with the number of turns that have just been finished.
    """
    for batch in work.batches:
        left = [work.plan.num_turns(batch)]

        def count(num: int, left: list[int] = left) -> None:
            left[0] -= num
            on_turns(num)

        samples = work.plan[batch.start : batch.stop]
        yield _rows(work.config, work.provenance, teacher(), samples, count)
        on_turns(left[0])


def rows_made_on_cluster(
    work: PlannedWork, engine: Callable[[], Engine] | None, on_turns: Callable[[int], None]
) -> MadeRows:
    """Yield the rows of each batch in the order of the plan, whichever worker of `config.ray` made them.

    Args:
        work: the batches.
        engine: makes the teacher in each worker; it is pickled. None: the configured
            teacher, whose weights must be the same on every machine.
        on_turns: is called with the number of turns of each batch that arrives.

    Raises:
        ConfigError: no such cluster.
        GenerationError: the error of a worker.
        ModelError: the teacher cannot be read here.
    """
    config, batches = work.config, work.batches
    assert config.ray is not None
    engine_config = config.teacher.engine
    make = engine or EngineAnywhere.of(engine_config, _adapters(config))
    made = work_on_cluster(
        config.ray,
        partial(_worker, config, work.provenance, make),
        (work.plan[batch.start : batch.stop] for batch in batches),
        num_items=len(batches),
        has_local_model=engine_config.server is None and engine_config.device != "cpu",
    )
    for batch, rows in zip(batches, made, strict=True):
        yield rows
        on_turns(work.plan.num_turns(batch))


def _worker(
    config: SynthConfig, provenance: Mapping[str, Any], make: Callable[[], Engine]
) -> Callable[[Sequence[PlannedSample]], Rows]:
    """Return, in a worker, the function that makes the rows of a batch."""
    return partial(_rows, config, provenance, make())


def _rows(
    config: SynthConfig,
    provenance: Mapping[str, Any],
    teacher: Engine,
    batch: Sequence[PlannedSample],
    on_targets: Callable[[int], None] | None = None,
) -> Rows:
    samples = sample_batch(
        teacher,
        batch,
        config.teacher,
        seed=config.seed,
        provenance=provenance,
        on_targets=on_targets,
    )
    return [sample.as_dict() for sample in samples]


def _adapters(config: SynthConfig) -> dict[str, str]:
    return {"teacher": config.teacher.adapter} if config.teacher.adapter else {}
