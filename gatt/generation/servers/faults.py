"""What can go wrong with a request: faults that may heal, refusals that will not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, Literal

FaultKind = Literal[
    "rate_limit", "overload", "timeout", "connection", "status", "reply", "size", "model"
]

HEALING: Final = (408, 409, 425, 429)
"""Statuses below 500 that may be gone at the next try."""
NEVER_HEALING: Final = (501, 505)
"""Statuses from 500 on that will be there at every try."""


class Fault(Exception):
    """No reply this time; the next try may have one.

    Args:
        kind: what sort of fault.
        what: what was seen, for a reader; holds no key.
        retry_after: seconds that the server asks to wait, if it does.
    """

    def __init__(self, kind: FaultKind, what: str, retry_after: float | None = None) -> None:
        super().__init__(what)
        self.kind: FaultKind = kind
        self.what = what
        self.retry_after = retry_after
        self.is_of_prompt = False
        """Whether it is put down to what was asked, not to the server."""

    @property
    def is_pressure(self) -> bool:
        """Whether it says that the server has too much to do."""
        return self.kind in ("rate_limit", "overload", "timeout")

    @property
    def is_answer(self) -> bool:
        """Whether there is a server at all."""
        return self.kind not in ("timeout", "connection")

    @property
    def is_outage(self) -> bool:
        """Whether several of it in a row say that the server is gone or broken."""
        return self.kind not in ("rate_limit", "model") and not self.is_of_prompt


class Refused(Exception):
    """A status that no further try will change."""

    def __init__(self, status: int, message: str, code: str) -> None:
        super().__init__(f"status {status}: {message}")
        self.status = status
        self.message = message
        self.code = code


def outcome_of_status(
    status: int, message: str, code: str, headers: Mapping[str, str]
) -> Fault | Refused:
    """Return what a status means.

    Args:
        status: 300 or more.
        message: what the server said, free of keys.
        code: the server's own code of the error, empty where it has none.
        headers: of the response; looked up in lower case.
    """
    # A quota that is used up also comes as 429, and waiting does not fill it.
    if code == "insufficient_quota":
        return Refused(status, message, code)
    what = f"status {status}{f' ({message})' if message else ''}"
    wait = retry_after(headers)
    if status == 429:
        return Fault("rate_limit", what, wait)
    if status in (503, 529):
        return Fault("overload", what, wait)
    if status in HEALING or (status >= 500 and status not in NEVER_HEALING):
        return Fault("status", what, wait)
    return Refused(status, message, code)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that `Retry-After` asks for: a number or an HTTP date; None without."""
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        return _until(value, now or datetime.now(UTC))
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _until(date: str, now: datetime) -> float | None:
    try:
        then = parsedate_to_datetime(date)
    except ValueError:
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return max((then - now).total_seconds(), 0.0)
