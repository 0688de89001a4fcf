"""Pieces of an evaluation, each one arm and a batch of cases, rolled out here or by workers of Ray."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from eval.cases.draw import told_where_shown
from eval.config import EvalConfig, used_adapters
from eval.records.arms import History
from eval.records.case import Case
from eval.rollout.roll_out import roll_out
from eval.rollout.rows import rows_of_step
from gatt.data.instruction import Entry
from gatt.generation.base import Engine, Generation, forget
from gatt.generation.cluster.config import RayConfig
from gatt.generation.cluster.pool import EngineAnywhere, work_on_cluster
from gatt.models.template_facts import inspect_template, usable_placement

RolloutRow = dict[str, Any]
RolloutSteps = Generator[list[RolloutRow], None, None]
"""The rows of one step of a roll-out at a time: a step is stored as a whole."""


@dataclass(frozen=True)
class CaseBatch:
    """The missing replies of one arm to a batch of cases."""

    arm: str
    history: History
    cases: tuple[Case, ...]
    said: Mapping[str, Sequence[Generation]]
    """With own history, the replies so far: case id to the replies to its first turns."""


def rows_of_piece(
    piece: CaseBatch, engine: Engine, config: EvalConfig, pool: Sequence[Entry]
) -> Iterator[list[RolloutRow]]:
    """Yield the rows of a piece, judged, as soon as their step is done.

    The configuration has a placement that the template takes; `pool` counts for false triggers.
    """
    forget(engine)
    counters = getattr(engine, "counters", None)
    before = asdict(counters) if counters else {}
    arm, history = piece.arm, piece.history
    cases = told_where_shown(piece.cases, getattr(engine, "tokenizer", None), config)
    for replies in roll_out(engine, cases, arm, history, config, piece.said):
        now = asdict(counters) if counters else {}
        # Zeros are stored too: that nothing was encoded again is a result.
        spent = {name: count - before[name] for name, count in now.items()}
        yield list(rows_of_step(replies, arm, history, pool, config, spent))
        before = now


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
