"""Gives pieces of work to Ray workers and yields the results in order.

It uses plain actors rather than Ray Data, for three reasons. A piece is a whole batch that takes minutes, so
there is nothing to stream. Results must come in the order of the pieces. And a dead worker must not
delay the run: Ray would restart its actor with the same piece once its machine is back. Here the
piece goes to the next free worker, and a new worker joins when there is room.
"""

from __future__ import annotations

import logging
import math
import os
import socket
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten
from typing import Any, Final, Generic, TypeVar

from gatt.errors import ConfigError, GattError, GenerationError, ModelError
from gatt.generation.base import Engine
from gatt.generation.cluster.config import RayConfig, installed_ray
from gatt.generation.config import EngineConfig, make_engine
from gatt.models.packaged import PACKAGED
from gatt.runs.provenance import versions
from gatt.verifiers.own_kinds import KindFile, known_files
from gatt.verifiers.table import use_kind_files

log = logging.getLogger(__name__)

WAIT_SECONDS: Final = 60.0
"""Time without an event after which a run without workers logs that it waits."""
PIECES_AHEAD: Final = 3
"""Pieces per worker that may be finished before an earlier piece: bounds the memory, and the work that
is lost if this process is killed."""
MAX_DEATHS: Final = 3
"""Workers that may die on the same piece of work: the last of them ends the run."""

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

    `make` is called once in each worker: it loads the model and returns the function that works on an item. It
    is pickled, and so are the items. With `has_local_model` each worker may use a GPU.

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
            ray,
            lambda: actor.remote(make, versions(), known_files()),
            num_workers,
        )
        try:
            yield from pool.work(items)
        finally:
            pool.close()


class Holder:
    """Loads the model and works on items; Ray runs it as an actor.

    The model is loaded by `start` and not by the constructor: Ray reports an error of a constructor
    like the death of the worker.

    `make` loads the model and returns the function that works on an item. `expected` are versions of packages
    on the machine that started the run, `kind_files` Python files with verifiers that the run's catalogue
    names; they need not be on this machine.
    """

    def __init__(
        self,
        make: Callable[[], Callable[[Any], Any]],
        expected: Mapping[str, str | None],
        kind_files: Sequence[KindFile] = (),
    ) -> None:
        self._make = make
        self._expected = dict(expected)
        self._kind_files = tuple(kind_files)
        self._work: Callable[[Any], Any] = lambda _: None

    def start(self) -> None:
        """Load the model.

        Raises:
            GenerationError: an error of loading, or other versions of packages, which would give
                other results; names the machine.
        """
        self._work = self._with_host(self._load)

    def work(self, item: Any) -> Any:
        """Return the result for an item.

        Raises:
            GenerationError: the error and the machine's name.
        """
        return self._with_host(lambda: self._work(item))

    def _load(self) -> Callable[[Any], Any]:
        installed = versions()
        for name, version in self._expected.items():
            if installed[name] != version:
                raise ConfigError(
                    f"{name} {installed[name]} is installed, expected {version} as on the machine that "
                    "started the run: install the same versions on every machine of the cluster"
                )
        use_kind_files(self._kind_files)
        return self._make()

    def _with_host(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except GattError as error:
            raise GenerationError(f"worker on {socket.gethostname()}: {error}") from None


class _Pool(Generic[Item, Value]):
    """The workers and the pieces of work, which are numbered."""

    def __init__(self, ray: Any, new_actor: Callable[[], Any], num_workers: int) -> None:
        self._ray = ray
        self._new_actor = new_actor
        self._num_workers = num_workers
        self._idle: list[Any] = []
        self._running: dict[Any, tuple[Any, int | None]] = {}
        """Ray's reference to a result, to worker and piece; the piece is None while the worker starts."""
        self._items: dict[int, Item] = {}
        """Pieces that were taken and are not done."""
        self._again: deque[int] = deque()
        """Pieces of dead workers."""
        self._done: dict[int, Value] = {}
        self._deaths: Counter[int | None] = Counter()
        """Of each piece; for None those in a row while workers start."""

    def work(self, items: Iterable[Item]) -> Iterator[Value]:
        """Yield the results of all items, in order."""
        for _ in range(self._num_workers):
            self._start()
        fresh = enumerate(items)
        following = next(fresh, None)
        num_yielded = 0
        while True:
            most = num_yielded + PIECES_AHEAD * self._num_workers
            while self._idle and (self._again or (following and following[0] < most)):
                if self._again:
                    number = self._again.popleft()
                else:
                    assert following is not None  # the condition of the loop
                    number, self._items[number] = following
                    following = next(fresh, None)
                actor = self._idle.pop()
                self._running[actor.work.remote(self._items[number])] = (actor, number)
            if following is None and not self._items:
                return
            self._wait()
            while num_yielded in self._done:
                yield self._done.pop(num_yielded)
                num_yielded += 1

    def close(self) -> None:
        """End all workers."""
        for actor in (*self._idle, *(actor for actor, _ in self._running.values())):
            self._ray.kill(actor)

    def _start(self) -> None:
        actor = self._new_actor()
        self._running[actor.start.remote()] = (actor, None)

    def _wait(self) -> None:
        """Wait until a worker has started, has finished a piece or has died, and handle that."""
        ready, _ = self._ray.wait(list(self._running), timeout=WAIT_SECONDS)
        is_waiting = all(number is None for _, number in self._running.values())
        if not ready and not self._idle and is_waiting:
            log.warning(
                "no worker has started yet: the cluster is full, or has no machine for one (see "
                "`ray status`); set fewer ray.gpus_per_worker or ray.cpus_per_worker, or wait"
            )
        for promise in ready:
            actor, number = self._running.pop(promise)
            try:
                value = self._ray.get(promise)
            except self._ray.exceptions.RayTaskError as error:
                self._ray.kill(actor)
                if isinstance(error.cause, GattError):
                    raise error.cause from None
                raise
            except self._ray.exceptions.RayError as error:
                self._ray.kill(actor)
                self._replace(number, error)
                continue
            self._idle.append(actor)
            if number is None:
                self._deaths[None] = 0
            else:
                self._done[number] = value
                del self._items[number]

    def _replace(self, number: int | None, error: Exception) -> None:
        """Start a worker in place of a dead one, and put its piece back."""
        # The last line of Ray's message has the reason; the others have ids.
        reason = shorten((str(error).strip() or type(error).__name__).splitlines()[-1], 160)
        if getattr(error, "actor_init_failed", False):
            raise GenerationError(
                f"a worker cannot be set up: {reason}: install this project and the packages of the "
                "run on every machine of the cluster"
            )
        self._deaths[number] += 1
        is_start = number is None
        if self._deaths[number] >= MAX_DEATHS * (self._num_workers if is_start else 1):
            when = "while they loaded the model" if is_start else "on the same piece of work"
            raise GenerationError(
                f"workers died {self._deaths[number]} times {when}: {reason}: see Ray's logs; finished work "
                "is kept: give workers more memory, make smaller batches or use a smaller model, and start "
                "again"
            )
        if number is not None:
            self._again.append(number)
        log.warning("a worker died (%s): another one takes its work", reason)
        self._start()


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Yield the `ray` module, connected; an existing connection is used and left open.

    Raises:
        ConfigError: Ray is not installed, or there is no such cluster.
    """
    ray = installed_ray()
    if ray.is_initialized():
        yield ray
        return
    # Telemetry only where the user asks for it.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    options = {"include_dashboard": False} if address == "local" else {}
    try:
        ray.init(address=address, logging_level=logging.WARNING, **options)
    except (OSError, RuntimeError, ValueError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ConfigError(
            f"ray.address is {address!r}: {reason.rstrip('.')}: expected a cluster that runs "
            "(`ray start --head` on one machine, `ray start --address=HEAD:6379` on the others), or "
            "local"
        ) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def room_for(
    config: RayConfig, resources: Mapping[str, float], *, has_local_model: bool
) -> tuple[dict[str, float], int]:
    """Return the resources of each worker, and for how many workers the cluster has room, at least 1."""
    num_cpus, num_gpus = resources.get("CPU", 0.0), resources.get("GPU", 0.0)
    # All N workers of one machine must start, however small it is.
    num_sharing = (config.address == "local" and config.num_workers) or 0
    cpus, gpus = config.cpus_per_worker, config.gpus_per_worker
    if cpus is None:
        cpus = _share(num_cpus, num_sharing) if num_sharing and num_cpus else 1.0
    if gpus is None:
        gpus = 1.0 if has_local_model and num_gpus else 0.0
        if gpus and num_sharing:
            gpus = min(1.0, _share(num_gpus, num_sharing))
    room = min(num_cpus // cpus, num_gpus // gpus if gpus else math.inf)
    return {"num_cpus": cpus, "num_gpus": gpus}, max(1, int(room))


def _share(total: float, num_workers: int) -> float:
    """Return the share of each worker: whole units, or a fraction of a unit that several workers share."""
    if num_workers <= total:
        return float(total // num_workers)
    # Ray counts in ten-thousandths.
    return math.floor(10_000 / math.ceil(num_workers / total)) / 10_000


@dataclass(frozen=True)
class EngineAnywhere:
    """Makes a configured engine in a worker, if the digests are those of the machine that started the run."""

    config: EngineConfig
    adapters: Mapping[str, str]
    """Name of each adapter to its folder, or to the name under which it is served."""
    digests: Mapping[str, str]
    """Of the model and of each adapter, on the machine that started the run."""

    @classmethod
    def of(cls, config: EngineConfig, adapters: Mapping[str, str | Path]) -> EngineAnywhere:
        """Return the maker for a configuration; call it on the machine that starts the run.

        Relative folders become absolute: workers of a running cluster have another working folder.

        Raises:
            ModelError: model or adapter cannot be read.
        """
        folders = {name: os.fspath(at) for name, at in adapters.items()}
        if config.has_weights:
            folders = {name: os.fspath(Path(at).absolute()) for name, at in adapters.items()}
            folder = Path(config.model).expanduser()
            if config.model not in PACKAGED and folder.is_dir():
                config = replace(config, model=os.fspath(folder.absolute()))
        return cls(config, folders, _digests(config, folders))

    def __call__(self) -> Engine:
        """Return the engine.

        Raises:
            ModelError: other weights, or they cannot be read.
        """
        for name, digest in _digests(self.config, self.adapters).items():
            if digest != self.digests[name]:
                raise ModelError(
                    f"{name}: other weights ({digest}) than on the machine that started the run "
                    f"({self.digests[name]}): copy the same model there, or use one on a shared file system"
                )
        return make_engine(self.config, self.adapters)


def _digests(config: EngineConfig, adapters: Mapping[str, str]) -> dict[str, str]:
    """Return the digests of a model and of each adapter; empty ones where they are served."""
    model_digest = {config.model: config.weights_digest()}
    return model_digest | {at: config.adapter_digest(at) for at in adapters.values()}
