"""An event loop in a thread of its own, so that connections live from call to call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for callers that have no event loop, or one that must not be blocked."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="gatt-servers", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what the coroutine returns; an interrupted wait cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def end(self, last: Coroutine[Any, Any, object]) -> None:
        """Run a coroutine, cancel what else still runs and end the thread, without waiting for it.

        A finalizer may call it, which the interpreter may run while its thread holds
        a lock that the loop needs.
        """

        async def work() -> None:
            try:
                await last
            finally:
                self._loop.stop()

        asyncio.run_coroutine_threadsafe(work(), self._loop)

    def join(self) -> None:
        """Wait until the thread has ended."""
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            left = asyncio.all_tasks(self._loop)
            for task in left:
                task.cancel()
            if left:
                self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            self._loop.close()
