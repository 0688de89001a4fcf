"""A limit of processor time for what others wrote: chat templates and patterns, which may run for years."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` in the block after so many seconds of processor time, in the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise TimeoutError(f"not done within {seconds:g} s of processor time")

    before = signal.signal(signal.SIGVTALRM, interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
