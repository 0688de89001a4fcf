"""The progress bar of all long work: a bar on a terminal, in a log a line every 15 to 30 seconds."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Protocol

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn

LOG_SECONDS = 15.0
"""Least time between two lines where there is no terminal."""
SILENT_SECONDS = 30.0
"""Time after which such a line comes though nothing was finished."""


class Bar(Protocol):
    """Takes reports of progress."""

    def advance(self, num: int) -> None:
        """Count `num` more units as done."""


class _LineBar:
    """Progress as plain lines, for logs and pipes."""

    def __init__(self, label: str, total: int, unit: str, done: int) -> None:
        self._label, self._total, self._unit, self._done = label, total, unit, done
        self._started = self._said = time.monotonic()
        self._first = done

    def advance(self, num: int) -> None:
        self._done += num
        now = time.monotonic()
        if now - self._said >= LOG_SECONDS or self._done >= self._total:
            self._said = now
            self._write(now)

    @contextmanager
    def talking(self) -> Iterator[None]:
        """Say within the block that the work goes on, where nothing is finished for a while."""
        ended = threading.Event()

        def talk() -> None:
            while not ended.wait(1):
                now = time.monotonic()
                if now - self._said >= SILENT_SECONDS:
                    self._said = now
                    self._write(now)

        thread = threading.Thread(target=talk, name=f"progress of {self._label}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _write(self, now: float) -> None:
        seconds = now - self._started
        rate = (self._done - self._first) / seconds if seconds else 0.0
        missing = self._total - self._done
        left = f"about {missing / rate:.0f} s left" if rate else "time left unknown"
        sys.stderr.write(
            f"{self._label}: {self._done}/{self._total} {self._unit}, {seconds:.0f} s, "
            f"{'about 0 s left' if missing <= 0 else left}\n"
        )
        sys.stderr.flush()


@contextmanager
def progress_bar(label: str, total: int, *, unit: str, done: int = 0) -> Iterator[Bar]:
    """Show the progress of `total` units, of which `done` are finished at the start."""
    console = Console(stderr=True)
    if not console.is_terminal:
        bar = _LineBar(label, total, unit, done)
        with bar.talking():
            yield bar
        return
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TextColumn(unit))
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(label, total=total, completed=done)
        yield SimpleNamespace(advance=partial(progress.advance, task))
