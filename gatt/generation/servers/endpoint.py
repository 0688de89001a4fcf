"""One endpoint: how much it takes at a time, and whether it is there.

How many requests it gets grows by one for every round of replies and halves
when it says that it has too much to do (AIMD, as TCP does). Its circuit opens
after `OPEN_AFTER` faults in a row: from then on it gets one request at a time,
with growing pauses, until one of them is answered.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from gatt.generation.servers.faults import Fault

OPEN_AFTER: Final = 5
"""Faults in a row, any reply between them forgotten, that open the circuit."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ticket:
    """A request under way."""

    started: float
    is_probe: bool


class Endpoint:
    """State of one endpoint. Times are readings of one monotonic clock, handed in.

    Args:
        url: base URL.
        limit: requests in flight to begin with.
        most: most requests in flight ever.
        pause: seconds from the opening of the circuit to the first probe.
        longest_pause: bound of pauses, `Retry-After` included.
    """

    def __init__(
        self, url: str, *, limit: float, most: int, pause: float, longest_pause: float
    ) -> None:
        self.url = url
        self.num_in_flight = 0
        self.has_answered = False
        self.num_failed_probes = 0
        """Since the circuit opened."""
        self.last_fault: Fault | None = None
        self._limit = max(limit, 1.0)
        self._most = most
        self._pause = pause
        self._longest_pause = longest_pause
        self._num_faults = 0
        self._cut_at = float("-inf")
        self._held_until = float("-inf")
        self._is_open = False
        self._is_probing = False

    @property
    def is_open(self) -> bool:
        """Whether its circuit is open."""
        return self._is_open

    @property
    def is_reached(self) -> bool:
        """Whether its last fault was one of something that takes connections."""
        return self.last_fault is None or self.last_fault.kind != "connection"

    @property
    def limit(self) -> int:
        """Most requests in flight at present."""
        return int(self._limit)

    @property
    def load(self) -> float:
        """Share of the limit that is in use."""
        return self.num_in_flight / self._limit

    def is_usable(self, now: float) -> bool:
        """Whether it may be asked as usual: neither held nor with an open circuit."""
        return not self._is_open and now >= self._held_until

    def has_room(self, now: float) -> bool:
        """Whether one more request may go there now."""
        if now < self._held_until:
            return False
        return not self._is_probing if self._is_open else self.num_in_flight < self.limit

    def next_time(self, now: float) -> float | None:
        """Return when time alone will make room; None where it will not."""
        return self._held_until if now < self._held_until else None

    def begin(self, now: float) -> Ticket:
        """Count a request as sent."""
        self.num_in_flight += 1
        self._is_probing = self._is_probing or self._is_open
        return Ticket(now, self._is_open)

    def abandon(self, ticket: Ticket) -> None:
        """Take back a request that came to no outcome."""
        self.num_in_flight -= 1
        if ticket.is_probe:
            self._is_probing = False

    def succeed(self, ticket: Ticket) -> None:
        """Note a reply."""
        self.abandon(ticket)
        self._limit = min(self._limit + 1 / self._limit, float(self._most))
        self._heard()

    def fail(self, ticket: Ticket, fault: Fault, now: float) -> None:
        """Note a fault."""
        self.abandon(ticket)
        self.last_fault = fault
        self.has_answered = self.has_answered or fault.is_answer
        # Requests that were under way at the last cut say nothing new.
        if fault.is_pressure and ticket.started >= self._cut_at:
            self._limit = max(self._limit / 2, 1.0)
            self._cut_at = now
        if fault.retry_after is not None:
            self._hold(now + fault.retry_after, now)
        if not fault.is_outage:
            self._heard()
        elif ticket.is_probe:
            self.num_failed_probes += 1
            self._hold(now + self._pause * 2**self.num_failed_probes, now)
        else:
            self._num_faults += 1
            if self._num_faults >= OPEN_AFTER and not self._is_open:
                self.open(fault, now)

    def open(self, fault: Fault, now: float) -> None:
        """Open the circuit."""
        self.last_fault = fault
        self._is_open = True
        self.num_failed_probes = 0
        self._hold(now + self._pause, now)
        log.warning("%s: %s: no further requests but single tries", self.url, fault.what)

    def _heard(self) -> None:
        self.has_answered = True
        self._num_faults = 0
        if self._is_open:
            self._is_open = False
            log.warning("%s: answers again", self.url)

    def _hold(self, until: float, now: float) -> None:
        self._held_until = max(self._held_until, min(until, now + self._longest_pause))
