"""Pieces of an evaluation, each one arm and a batch of cases, rolled out here or by workers of Ray."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from eval.cases.switches import told_where_shown
from eval.config import EvalConfig, used_adapters
from eval.records.case import Case
from eval.records.samples import History
from eval.rollout.roll_out import roll_out
from eval.rollout.rows import rows_of_step, token_counts, tokens_since
from gatt.data.instruction import Entry
from gatt.generation.base import Engine, Generation, forget
from gatt.generation.cluster.config import RayConfig
from gatt.generation.cluster.pool import work_on_cluster
from gatt.generation.cluster.same_weights import EngineAnywhere
from gatt.models.template_facts import inspect_template, usable_placement

Row = dict[str, Any]
Rows = Generator[list[Row], None, None]
"""The rows of one step of a roll-out at a time: they come together."""


@dataclass(frozen=True)
class Piece:
    """The replies of one arm to a batch of cases that are still missing."""

    arm: str
    history: History
    cases: tuple[Case, ...]
    said: Mapping[str, Sequence[Generation]]
    """With own history, the replies so far: case id to those of its first turns."""


class CaseWorker:
    """One engine, and the rows that it makes."""

    def __init__(self, engine: Engine, config: EvalConfig, pool: Sequence[Entry]) -> None:
        """Look at the engine's template.

        Args:
            engine: answers.
            config: of the evaluation.
            pool: entries that count for false triggers.
        """
        self._engine = engine
        self._config = _with_usable_placement(config, engine)
        self._pool = pool

    def rows(self, piece: Piece) -> Rows:
        """Yield the rows of a piece, judged, as soon as their step is done.

        Raises:
            GenerationError: the engine gave no reply.
        """
        forget(self._engine)
        before = token_counts(self._engine)
        arm, history, config = piece.arm, piece.history, self._config
        cases = told_where_shown(piece.cases, getattr(self._engine, "tokenizer", None), config)
        for replies in roll_out(self._engine, cases, arm, history, config, piece.said):
            tokens = token_counts(self._engine)
            spent = tokens_since(tokens, before)
            yield list(rows_of_step(replies, arm, history, self._pool, config, spent))
            before = tokens


def rows_made_here(
    pieces: Sequence[Piece],
    engine: Callable[[], Engine],
    config: EvalConfig,
    pool: Sequence[Entry],
) -> Rows:
    """Yield the rows of all pieces, made by one engine; none is made for no piece."""
    if pieces:
        worker = CaseWorker(engine(), config, pool)
        for piece in pieces:
            yield from worker.rows(piece)


def rows_made_on_cluster(
    pieces: Sequence[Piece],
    engine: Callable[[], Engine] | None,
    config: EvalConfig,
    pool: Sequence[Entry],
    cluster: RayConfig,
) -> Rows:
    """Yield the rows of all pieces in their order, whichever worker made them.

    A piece arrives as a whole: an interruption costs the pieces in work.

    Args:
        pieces: the work.
        engine: makes the engine in each worker; it is pickled. None: the configured one, whose
            weights must be the same on every machine.
        config: of the evaluation.
        pool: entries that count for false triggers.
        cluster: the workers.

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
) -> Callable[[Piece], list[Row]]:
    """Return, in a worker, the function that makes the rows of a piece."""
    worker = CaseWorker(make(), config, pool)

    def rows(piece: Piece) -> list[Row]:
        return [row for step in worker.rows(piece) for row in step]

    return rows


def _with_usable_placement(config: EvalConfig, engine: Engine) -> EvalConfig:
    """Return the configuration, with `first_user` where the template has no system role."""
    tokenizer = getattr(engine, "tokenizer", None)
    if config.placement != "system" or tokenizer is None:
        return config
    return replace(
        config, placement=usable_placement(config.placement, inspect_template(tokenizer))
    )
