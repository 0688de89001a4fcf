"""Batches of an evaluation, rolled out by one engine here or by workers of Ray."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from eval.config import EvalConfig, used_adapters
from eval.rollout.roll_out import CaseBatch, RolloutRow, RolloutSteps, rows_of_piece
from gatt.data.instruction import Entry
from gatt.generation.base import Engine
from gatt.generation.cluster.config import RayConfig
from gatt.generation.cluster.pool import EngineAnywhere, work_on_cluster
from gatt.models.template_facts import inspect_template, usable_placement


def rows_made_here(
    pieces: Sequence[CaseBatch],
    engine: Callable[[], Engine],
    config: EvalConfig,
    pool: Sequence[Entry],
) -> RolloutSteps:
    """Yield the rows of all pieces, made by one engine; without a piece none is loaded."""
    if pieces:
        made = engine()
        config = with_usable_placement(config, made)
        for piece in pieces:
            yield from rows_of_piece(piece, made, config, pool)


def rows_made_on_cluster(
    pieces: Sequence[CaseBatch],
    engine: Callable[[], Engine] | None,
    config: EvalConfig,
    pool: Sequence[Entry],
    cluster: RayConfig,
) -> RolloutSteps:
    """Yield the rows of all pieces in their order, whichever worker made them.

    A piece arrives as a whole: an interruption loses the pieces in work. `engine` makes the engine in each
    worker and is pickled; None takes the configured one, whose weights must be the same on every machine.

    Raises:
        ConfigError: no such cluster.
        GenerationError: the error of a worker.
        ModelError: model or adapter cannot be read here.
    """
    make = engine or EngineAnywhere.of(config.engine, used_adapters(config))
    yield from work_on_cluster(
        cluster,
        partial(_worker, config, tuple(pool), make),
        pieces,
        num_items=len(pieces),
        has_local_model=config.engine.server is None and config.engine.device != "cpu",
    )


def _worker(
    config: EvalConfig, pool: Sequence[Entry], make: Callable[[], Engine]
) -> Callable[[CaseBatch], list[RolloutRow]]:
    """Return, in a worker, the function that makes the rows of a piece."""
    engine = make()
    config = with_usable_placement(config, engine)

    def rows(piece: CaseBatch) -> list[RolloutRow]:
        return [row for step in rows_of_piece(piece, engine, config, pool) for row in step]

    return rows


def with_usable_placement(config: EvalConfig, engine: Engine) -> EvalConfig:
    """Return the configuration with a placement that the engine's template takes; log if it is another."""
    tokenizer = getattr(engine, "tokenizer", None)
    if tokenizer is None:
        return config
    placement = usable_placement(config.placement, inspect_template(tokenizer))
    return replace(config, placement=placement)
