"""The same work on many items, in order, by this process or by several."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import Any, Final, TypeVar

from gatt.errors import TrainingError

T = TypeVar("T")
R = TypeVar("R")
ITEMS_PER_CALL: Final = 64
"""Items that travel to a process together."""
_work: Callable[[Any], Any]


def in_order(work: Callable[[T], R], items: Iterable[T], num_proc: int = 1) -> Iterator[R]:
    """Yield the result of each item in the order of the items, which are read as they are needed.

    Raises:
        TrainingError: one of the processes was killed.
    """
    if num_proc == 1:
        yield from map(work, items)
        return
    # Forked, a child would share the locks of torch's and the tokenizer's threads.
    pool = ProcessPoolExecutor(num_proc, multiprocessing.get_context("spawn"), _take, (work,))
    waiting: deque[Future[list[R]]] = deque()
    rest = iter(items)
    try:
        while True:
            while len(waiting) < 2 * num_proc and (some := list(islice(rest, ITEMS_PER_CALL))):
                waiting.append(pool.submit(_results, some))
            if not waiting:
                return
            yield from waiting.popleft().result()
    except BrokenProcessPool:
        raise TrainingError(
            f"one of {num_proc} processes that tokenise was killed, often for memory: set a smaller "
            "dataset_num_proc"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _take(work: Callable[[Any], Any]) -> None:
    global _work
    _work = work


def _results(items: Sequence[Any]) -> list[Any]:
    return [_work(item) for item in items]
