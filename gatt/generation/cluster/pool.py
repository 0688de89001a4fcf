"""Gives pieces of work to Ray workers and yields the results in order.

It uses plain actors rather than Ray Data, for three reasons. A piece is a whole batch that takes minutes, so
there is nothing to stream. Results must come in the order of the pieces. And a dead worker must not
delay the run: Ray would restart its actor with the same piece once its machine is back. Here the
piece goes to the next free worker, and a new worker joins when there is room.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from textwrap import shorten
from typing import Any, Final, Generic, TypeVar

from gatt.errors import GattError, GenerationError
from gatt.generation.cluster.config import RayConfig
from gatt.generation.cluster.connection import connected, room_for
from gatt.generation.cluster.holder import Holder
from gatt.runs.provenance import versions
from gatt.verifiers.own_kinds import known_files

log = logging.getLogger(__name__)

WAIT_SECONDS: Final = 60.0
"""Time without an event after which a run without workers logs that it waits."""
PIECES_AHEAD: Final = 3
"""Pieces per worker that may be finished before an earlier piece: bounds the memory, and the work that
is lost if this process is killed."""

Item = TypeVar("Item")
Value = TypeVar("Value")


def work_on_cluster(
    config: RayConfig,
    make: Callable[[], Callable[[Item], Value]],
    items: Iterable[Item],
    *,
    num_items: int,
    has_local_model: bool,
) -> Iterator[Value]:
    """Yield the result of each item, in the order of the items.

    A dead worker is replaced, and another one gets its item: no item is lost or yielded twice.
    Items are taken as workers become free.

    Args:
        config: the cluster.
        make: called once in each worker; loads the model and returns the function that works on
            an item. It is pickled, and so are the items.
        items: pieces of work.
        num_items: their number.
        has_local_model: whether each worker loads the model, and may use a GPU.

    Raises:
        ConfigError: Ray is not installed, or there is no such cluster.
        GenerationError: an error of a worker, or workers die again and again.
    """
    if not num_items:
        return
    with connected(config.address) as ray:
        options, room = room_for(config, ray.cluster_resources(), has_local_model=has_local_model)
        num_workers = min(config.num_workers or room, num_items)
        log.info("%d workers with %s each", num_workers, options)
        actor = ray.remote(Holder).options(max_restarts=0, max_task_retries=0, **options)
        pool: _Pool[Item, Value] = _Pool(
            ray, lambda: actor.remote(make, versions(), known_files()), config
        )
        try:
            yield from pool.work(enumerate(items), num_workers)
        finally:
            pool.close()


@dataclass
class _Piece(Generic[Item]):
    number: int
    item: Item
    num_deaths: int = 0


@dataclass
class _Pool(Generic[Item, Value]):
    """The workers and the pieces of work."""

    ray: Any
    new_actor: Callable[[], Any]
    config: RayConfig
    idle: list[Any] = field(default_factory=list)
    running: dict[Any, tuple[Any, _Piece[Item] | None]] = field(default_factory=dict)
    """Ray's reference to a result, to worker and piece; the piece is None while the worker starts."""
    again: deque[_Piece[Item]] = field(default_factory=deque)
    """Pieces of dead workers."""
    done: dict[int, Value] = field(default_factory=dict)
    num_failed_starts: int = 0
    """Workers that died in a row while they started."""

    def work(self, numbered: Iterator[tuple[int, Item]], num_workers: int) -> Iterator[Value]:
        """Yield the results of all items, in order."""
        for _ in range(num_workers):
            self._start()
        fresh = (_Piece(number, item) for number, item in numbered)
        following = next(fresh, None)
        num_yielded = 0
        while True:
            while self.idle and (
                self.again or self._may_begin(following, num_yielded, num_workers)
            ):
                piece = self.again.popleft() if self.again else following
                if piece is following:
                    following = next(fresh, None)
                assert piece is not None  # the condition of the loop
                actor = self.idle.pop()
                self.running[actor.work.remote(piece.item)] = (actor, piece)
            if following is None and not self.again and not self._num_in_work():
                return
            self._wait(num_workers)
            while num_yielded in self.done:
                yield self.done.pop(num_yielded)
                num_yielded += 1

    def close(self) -> None:
        """End all workers."""
        for actor in (*self.idle, *(actor for actor, _ in self.running.values())):
            self.ray.kill(actor)

    def _start(self) -> None:
        actor = self.new_actor()
        self.running[actor.start.remote()] = (actor, None)

    def _may_begin(self, piece: _Piece[Item] | None, num_yielded: int, num_workers: int) -> bool:
        return piece is not None and piece.number < num_yielded + PIECES_AHEAD * num_workers

    def _num_in_work(self) -> int:
        return sum(piece is not None for _, piece in self.running.values())

    def _wait(self, num_workers: int) -> None:
        """Wait until a worker has started, has finished a piece or has died, and handle that."""
        ready, _ = self.ray.wait(list(self.running), timeout=WAIT_SECONDS)
        if not ready and not self.idle and not self._num_in_work():
            log.warning(
                "no worker has started yet: the cluster is full, or has no machine for one (see "
                "`ray status`); set fewer ray.gpus_per_worker or ray.cpus_per_worker, or wait"
            )
        for promise in ready:
            actor, piece = self.running.pop(promise)
            try:
                value = self.ray.get(promise)
            except self.ray.exceptions.RayTaskError as error:
                self.ray.kill(actor)
                if isinstance(error.cause, GattError):
                    raise error.cause from None
                raise
            except self.ray.exceptions.RayError as error:
                self.ray.kill(actor)
                reason = _last_line(error)
                if getattr(error, "actor_init_failed", False):
                    raise GenerationError(
                        f"a worker cannot be set up: {reason}: install this project and the packages of the "
                        "run on every machine of the cluster"
                    ) from None
                self._replace(piece, reason, num_workers)
                continue
            self.num_failed_starts = 0
            self.idle.append(actor)
            if piece is not None:
                self.done[piece.number] = value

    def _replace(self, piece: _Piece[Item] | None, reason: str, num_workers: int) -> None:
        """Start a worker in place of a dead one, and put its piece back."""
        if piece is None:
            self.num_failed_starts += 1
            if self.num_failed_starts >= self.config.max_deaths * num_workers:
                raise GenerationError(
                    f"workers died {self.num_failed_starts} times while they loaded the model: {reason}: "
                    "see Ray's logs; give them more memory, or use a smaller model"
                )
        else:
            piece.num_deaths += 1
            if piece.num_deaths >= self.config.max_deaths:
                raise GenerationError(
                    f"workers died {piece.num_deaths} times on the same piece of work: {reason}: see Ray's "
                    "logs; finished work is kept: give workers more memory or make smaller batches, and start "
                    "again"
                )
            self.again.append(piece)
        log.warning("a worker died (%s): another one takes its work", reason)
        self._start()


def _last_line(error: Exception) -> str:
    """Return the last line of Ray's message, which has the reason; the others have ids."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return shorten(lines[-1], 160)
