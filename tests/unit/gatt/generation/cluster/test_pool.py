"""How pieces of work go to workers that die, with a Ray of functions; tests/integration has the real one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from gatt.errors import GattError, GenerationError
from gatt.generation.cluster import pool
from gatt.generation.cluster.config import RayConfig
from gatt.generation.cluster.pool import PIECES_AHEAD, work_on_cluster


class RayError(Exception):
    actor_init_failed = False


class RayTaskError(RayError):
    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class FakeRay:
    """Runs a call when it is drawn, so that pieces end out of order."""

    def __init__(self, deaths: Callable[[str, Any, int], str | None] = lambda *_: None) -> None:
        self.exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
        self.deaths = deaths
        self.rng = random.Random(0)
        self.calls: list[tuple[str, Any]] = []
        self.started: list[Any] = []
        self.killed: list[Any] = []

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def remote(self, holder: type) -> FakeRay:
        self.holder = holder
        actor = SimpleNamespace(remote=self.new_actor)
        return SimpleNamespace(options=lambda **_: actor)

    def new_actor(self, *words: Any) -> Any:
        holder = self.holder(*words)
        actor = SimpleNamespace(number=len(self.started))
        self.started.append(actor)
        for name in ("start", "work"):
            run = getattr(holder, name)
            remote = SimpleNamespace(remote=self.promise(actor, name, run))
            setattr(actor, name, remote)
        return actor

    def promise(self, actor: Any, name: str, run: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *words: _Promise(actor, name, run, words)

    def wait(self, promises: list[Any], timeout: float) -> tuple[list[Any], list[Any]]:
        ready = self.rng.choice(promises)
        return [ready], [promise for promise in promises if promise is not ready]

    def get(self, promise: _Promise) -> Any:
        item = promise.words[0] if promise.words else None
        num_before = self.calls.count((promise.name, item))
        self.calls.append((promise.name, item))
        if (reason := self.deaths(promise.name, item, num_before)) is not None:
            error = RayError(f"The actor died.\n{reason}")
            error.actor_init_failed = reason.startswith("No module")
            raise error
        try:
            return promise.run(*promise.words)
        except Exception as error:
            raise RayTaskError(error) from None

    def kill(self, actor: Any) -> None:
        assert actor not in self.killed
        self.killed.append(actor)


class _Promise:
    def __init__(self, actor: Any, name: str, run: Callable[..., Any], words: tuple) -> None:
        self.actor, self.name, self.run, self.words = actor, name, run, words


def made(
    monkeypatch: pytest.MonkeyPatch,
    ray: FakeRay,
    num_items: int = 9,
    items: Sequence[int] = (),
    **settings: Any,
) -> Iterator[int]:
    @contextmanager
    def connected(address: str) -> Iterator[FakeRay]:
        yield ray

    def square(item: int) -> int:
        if item == 100:
            raise GattError("data.jsonl: cannot be had")
        if item == 101:
            raise ZeroDivisionError("a mistake of ours")
        return item * item

    monkeypatch.setattr(pool, "connected", connected)
    config = RayConfig(**{"num_workers": 2, **settings})
    items = items or range(num_items)
    return work_on_cluster(
        config, lambda: square, items, num_items=len(items), has_local_model=False
    )


def test_no_item_starts_no_worker_and_few_items_start_few(monkeypatch) -> None:
    for num in (0, 1):
        ray = FakeRay()
        assert list(made(monkeypatch, ray, num)) == list(range(num))
        assert len(ray.started) == num


def test_no_worker_runs_far_ahead_of_the_first_piece(monkeypatch) -> None:
    ray = FakeRay()
    values = made(monkeypatch, ray, 50)
    assert next(values) == 0
    begun = [item for name, item in ray.calls if name == "work"]
    # One value is taken by now, and nothing was begun for it yet.
    assert max(begun) < PIECES_AHEAD * 2
    values.close()
    assert sorted(a.number for a in ray.killed) == [0, 1]


def test_the_piece_of_a_dead_worker_goes_to_another_one(monkeypatch, caplog) -> None:
    ray = FakeRay(lambda name, item, before: "out of memory" if item == 3 and not before else None)
    assert list(made(monkeypatch, ray)) == [n * n for n in range(9)]
    assert ray.calls.count(("work", 3)) == 2
    assert all(ray.calls.count(("work", n)) == 1 for n in range(9) if n != 3)
    assert len(ray.started) == len(ray.killed) == 3
    assert "(out of memory)" in caplog.text


def test_a_piece_that_kills_its_workers_ends_the_run(monkeypatch) -> None:
    ray = FakeRay(lambda name, item, before: "out of memory" if item == 3 else None)
    with pytest.raises(GenerationError, match=r"died 3 times .*out of memory"):
        list(made(monkeypatch, ray))
    assert len(ray.killed) == len(ray.started)


def test_workers_that_die_at_the_start_are_replaced_for_a_while(monkeypatch) -> None:
    once = FakeRay(lambda name, item, before: "gone" if name == "start" and before < 3 else None)
    assert list(made(monkeypatch, once)) == [n * n for n in range(9)]
    always = FakeRay(lambda name, item, before: "gone" if name == "start" else None)
    with pytest.raises(GenerationError, match=r"died 6 times .*gone"):
        list(made(monkeypatch, always))


def test_a_machine_without_the_project_is_said_at_once(monkeypatch) -> None:
    ray = FakeRay(lambda name, item, before: "No module named 'gatt'")
    with pytest.raises(GenerationError, match=r"No module named 'gatt'"):
        list(made(monkeypatch, ray))
    assert len(ray.calls) == 1


def test_what_a_worker_says_ends_the_run(monkeypatch) -> None:
    with pytest.raises(GenerationError, match=r"^worker on .+: data\.jsonl: cannot be had$"):
        list(made(monkeypatch, FakeRay(), items=[4, 100]))
    with pytest.raises(RayTaskError, match="a mistake of ours") as caught:
        list(made(monkeypatch, FakeRay(), items=[4, 101]))
    assert isinstance(caught.value.cause, ZeroDivisionError)


def test_a_run_without_workers_says_what_it_waits_for(monkeypatch, caplog) -> None:
    ray = FakeRay()
    patient = ray.wait
    answers = iter([([], [])])
    ray.wait = lambda promises, timeout: next(answers, None) or patient(promises, timeout)
    assert list(made(monkeypatch, ray, 1)) == [0]
    assert "ray.gpus_per_worker" in caplog.text
