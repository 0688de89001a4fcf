"""One HTTP request, which gives a body, a fault (try again) or a refusal (give up)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final

import httpx2

MOST_BYTES: Final = 8 * 2**20
"""Most bytes that are read of one answer, after decompression."""
_HEALING: Final = (408, 409, 425, 429)
"""Statuses below 500 after which another try may succeed."""
_NEVER_HEALING: Final = (501, 505)


class Fault(Exception):
    """No reply, but the next try may give one. The message contains no key.

    `kind` is one of unreachable, connection, timeout, rate_limit, status, size,
    reply (no chat completion) and model (a reply of another one).
    """

    def __init__(self, kind: str, what: str, retry_after: float | None = None) -> None:
        super().__init__(what)
        self.kind = kind
        self.retry_after = retry_after
        """Seconds that the server asks to wait."""


class Refused(Exception):
    """A status that another try will not change. The message contains no key."""

    def __init__(self, status: int, message: str, code: str) -> None:
        super().__init__(f"status {status}: {message}")
        self.status, self.message, self.code = status, message, code


async def post(
    http: httpx2.AsyncClient, url: str, body: Any, seconds: float, clean: Callable[[str], str]
) -> bytes:
    """Return the body of the answer, decompressed, within some seconds; `clean` removes keys.

    Raises:
        Fault: no answer, more than `MOST_BYTES`, or a status that may heal.
        Refused: a status that will not heal, redirects included.
    """
    data = bytearray()
    try:
        # The client's own time-out is for each read, and a slow server may send single bytes.
        async with asyncio.timeout(seconds), http.stream("POST", url, json=body) as response:
            async for part in response.aiter_bytes():
                data += part
                if len(data) > MOST_BYTES:
                    raise Fault("size", f"an answer of more than {MOST_BYTES} bytes")
    except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
        raise Fault("unreachable", f"no connection ({clean(str(error)) or 'too slow'})") from None
    except (TimeoutError, httpx2.TimeoutException):
        raise Fault("timeout", f"no reply within {seconds:g} s") from None
    except httpx2.RequestError as error:
        why = clean(str(error)) or type(error).__name__
        raise Fault("connection", f"a broken connection ({why})") from None
    status, headers = response.status_code, response.headers
    if status < 300:
        return bytes(data)
    message, code = _said(bytes(data))
    message = clean(f"redirects to {headers['location']}" if response.is_redirect else message)
    may_heal = status in _HEALING or (status >= 500 and status not in _NEVER_HEALING)
    # A used-up quota is status 429, too, but waiting does not help.
    if not may_heal or code == "insufficient_quota":
        raise Refused(status, message, code)
    wait = headers.get("retry-after", "")
    seconds_to_wait = float(wait) if wait.replace(".", "", 1).isdecimal() else None
    kind = "rate_limit" if status == 429 else "status"
    raise Fault(kind, f"status {status} ({message})", seconds_to_wait)


def _said(body: bytes) -> tuple[str, str]:
    """Return message and code of an error's body, in the form of OpenAI or FastAPI, or as text."""
    try:
        found = json.loads(body)
        if isinstance(found, dict):
            found = found["error"] if isinstance(found.get("error"), dict) else found
            said = found.get("message") or found.get("detail") or found
            text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
            return text, str(found.get("code") or found.get("type") or "")
    except (ValueError, RecursionError):
        pass
    return body.decode("utf-8", "replace"), ""
