"""Waiting for servers that answer `too many requests`: one line says so, and all waits together have an end."""

from __future__ import annotations

import logging
import math
import time
from typing import Final

from gatt.generation.servers.answer import Fault

_TOLD_AGAIN_SECONDS: Final = 60.0

log = logging.getLogger(__name__)


class Quota:
    """The waits of all requests of an engine.

    They are counted from the first `too many requests` after a reply: a server that is slow to answer, but
    answers, is waited for without end.

    Without a reply they take at most `most_seconds`.
    """

    def __init__(self, most_seconds: float) -> None:
        self._most_seconds = most_seconds
        self._since: float | None = None
        self._told_at = -math.inf

    def pause(self, fault: Fault, seconds: float, url: str) -> float | None:
        """Return the seconds until the next try, None if there shall be none.

        `seconds` is the pause that would come without an end.
        """
        now = time.monotonic()
        is_first, self._since = self._since is None, self._since or now
        left = self._since + self._most_seconds - now
        if left <= 0 or (fault.retry_after or 0.0) > left:
            return None
        if is_first and now - self._told_at >= _TOLD_AGAIN_SECONDS:
            self._told_at = now
            log.warning(
                "%s: waits for the server, at most %.0f s (server.max_wait_seconds): %s",
                url,
                left,
                fault,
            )
        return min(seconds, left)

    def ended(self) -> None:
        """Note that a server gave a reply."""
        self._since = None
