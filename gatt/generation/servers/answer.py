"""What a server answers: a reply, a fault that may pass, or a refusal."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final, Literal

import httpx2
from pydantic import BaseModel, ValidationError

from gatt.generation.base import FinishReason, Generation
from gatt.models.reasoning import without_reasoning

MOST_BYTES: Final = 8 * 2**20
"""Most bytes that are read of one answer, after decompression."""
_HEALING: Final = (408, 409, 425, 429)
"""Statuses below 500 after which another try may succeed."""
_NEVER_HEALING: Final = (501, 505)
_TOO_LONG: Final = (
    "maximum context length",  # vLLM, OpenAI
    "context_length_exceeded",
    "longer than the model's context",  # SGLang
    "exceed_context_size",  # llama.cpp
    "exceeds the available context",
)

FaultKind = Literal["unreachable", "timeout", "rate_limit", "other"]


class Fault(Exception):
    """No reply, but the next try may give one. The message contains no key."""

    def __init__(self, kind: FaultKind, what: str, retry_after: float | None = None) -> None:
        super().__init__(what)
        self.kind = kind
        self.retry_after = retry_after
        """Seconds that the server asks to wait."""


class Refused(Exception):
    """A status that another try will not change. The message contains no key."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"status {status}: {message}")
        self.status = status


class _Message(BaseModel):
    content: str | None = None
    refusal: Any = None
    reasoning: Any = None
    reasoning_content: Any = None


class _Choice(BaseModel):
    finish_reason: Literal["stop", "length", "content_filter"]
    message: _Message


class _Completion(BaseModel):
    choices: list[_Choice] = []
    usage: Any = None
    error: Any = None


async def post(
    http: httpx2.AsyncClient,
    url: str,
    body: Any,
    seconds: float,
    clean: Callable[[str], str],
    prefill: str,
) -> Generation:
    """Return the reply that comes within some seconds; it is empty where the prompt is too long or filtered.

    `clean` and `prefill` are those of `read_reply`.

    Raises:
        Fault: no answer, none with a reply, more than `MOST_BYTES`, or a status that may heal.
        Refused: a status that will not heal, redirects included.
    """
    data = bytearray()
    try:
        # The client's own time-out is for each read, and a slow server may send single bytes.
        async with asyncio.timeout(seconds), http.stream("POST", url, json=body) as response:
            async for part in response.aiter_bytes():
                data += part
                if len(data) > MOST_BYTES:
                    raise Fault("other", f"an answer of more than {MOST_BYTES} bytes")
    except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
        raise Fault("unreachable", f"no connection ({clean(str(error)) or 'too slow'})") from None
    except (TimeoutError, httpx2.TimeoutException):
        raise Fault("timeout", f"no reply within {seconds:g} s") from None
    except httpx2.RequestError as error:
        why = clean(str(error)) or type(error).__name__
        raise Fault("other", f"a broken connection ({why})") from None
    status, headers = response.status_code, response.headers
    if status < 300:
        return read_reply(bytes(data), prefill, clean)
    message, code = _message_and_code(bytes(data))
    message = clean(f"redirects to {headers['location']}" if response.is_redirect else message)
    if status in (400, 413, 422) and any(m in f"{code} {message}".lower() for m in _TOO_LONG):
        return Generation("", "context_limit", 0)
    if status == 400 and code == "content_filter":
        return Generation("", "content_filter", 0)
    may_heal = status in _HEALING or (status >= 500 and status not in _NEVER_HEALING)
    # A used-up quota is status 429, too, but waiting does not help.
    if not may_heal or code == "insufficient_quota":
        raise Refused(status, message)
    wait = headers.get("retry-after", "")
    seconds_to_wait = float(wait) if wait.replace(".", "", 1).isdecimal() else None
    kind: FaultKind = "rate_limit" if status == 429 else "other"
    raise Fault(kind, f"status {status} ({message})", seconds_to_wait)


def _message_and_code(body: bytes) -> tuple[str, str]:
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


def read_reply(body: bytes, prefill: str, clean: Callable[[str], str]) -> Generation:
    """Return the reply in the body of a 200.

    Args:
        body: JSON of a chat completion.
        prefill: given beginning of the reply; the text starts with it, after reasoning is removed.
        clean: removes keys from messages.

    Raises:
        Fault: no chat completion, no choice, or no text.
    """
    try:
        answer = _Completion.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "body"
        start = clean(body[:60].decode("utf-8", "replace"))
        what = f"no chat completion ({place}: {clean(first['msg'])}; it begins {start!r})"
        raise Fault("other", what) from None
    if not answer.choices:
        raise Fault("other", f"a reply without choices (error: {clean(str(answer.error))})")
    message, finish = answer.choices[0].message, answer.choices[0].finish_reason
    end: FinishReason = finish
    if message.content is None and message.refusal:
        end = "content_filter"
    has_reason = end != "stop" or message.reasoning or message.reasoning_content
    if message.content is None and not has_reason:
        raise Fault("other", "a reply without content")
    text = without_reasoning((prefill + (message.content or "")).strip(), is_cut=end != "stop")
    num = answer.usage.get("completion_tokens") if isinstance(answer.usage, dict) else 0
    return Generation(text, end, num if isinstance(num, int) and num > 0 else 0)
