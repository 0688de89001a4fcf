"""What a server answers: a reply, a fault that may pass, or a refusal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal

import httpx2

from gatt.generation.base import FinishReason, Generation
from gatt.generation.servers.wording import (
    error_of,
    is_about_a_filter,
    is_about_length,
    status_of_words,
)
from gatt.models.reasoning import without_reasoning
from gatt.runs.input_file import parse_json
from gatt.runs.secrets import public

MOST_BYTES: Final = 8 * 2**20
"""Most bytes that are read of one answer, after decompression."""
_HEALING: Final = (408, 409, 423, 424, 425, 429, 499)
"""Statuses below 500 after which another try may succeed."""
_NEVER_HEALING: Final = (501, 505)
_OF_THE_PROMPT: Final = (400, 413, 422, 500)
"""Statuses that may be about the length of the prompt; 413 always is."""
_OF_A_FILTER: Final = (400, 403, 422, 451, 500)
_ENDS: Final[Mapping[str, FinishReason]] = {
    "length": "length",
    "content_filter": "content_filter",
}
NO_END: Final = "none"
"""Stands for a `finish_reason` that is missing or null."""
_LONGEST_END: Final = 40

FaultKind = Literal["unreachable", "timeout", "rate_limit", "other"]


class Fault(Exception):
    """No reply, but the next try may give one. The message contains no key."""

    def __init__(self, kind: FaultKind, what: str, retry_after: float | None = None) -> None:
        super().__init__(what)
        self.kind = kind
        self.retry_after = retry_after
        """Seconds that the server asks to wait."""


@dataclass(frozen=True)
class Reading:
    """How the body of an answer is read."""

    prefill: str = ""
    """Given beginning of the reply; the text starts with it, after reasoning is removed."""
    clean: Callable[[str], str] = public
    """Removes keys from messages."""
    whole: tuple[str, ...] = ("stop",)
    """Values of `finish_reason` that mean a whole reply."""
    count: Callable[[Mapping[str, Any]], None] = lambda _: None
    """Is given the server's `usage` of each reply that states it."""


class Refused(Exception):
    """A status that another try will not change. The message contains no key."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"status {status}: {message.rstrip(' .')}")
        self.status = status
        self.message = message


async def post(
    http: httpx2.AsyncClient, url: str, body: Any, seconds: float, reading: Reading
) -> Generation:
    """Return the reply that comes within some seconds; it is empty where the prompt is too long or filtered.

    Raises:
        Fault: no answer, none with a reply, more than `MOST_BYTES`, or a status that may heal.
        Refused: a status that will not heal, redirects included.
    """
    data, clean = bytearray(), reading.clean
    try:
        # The client's own time-out is for each read, and a slow server may send single bytes.
        async with asyncio.timeout(seconds), http.stream("POST", url, json=body) as response:
            async for part in response.aiter_bytes():
                data += part
                if len(data) > MOST_BYTES:
                    raise Fault("other", f"an answer of more than {MOST_BYTES} bytes")
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
        raise Fault("unreachable", f"no connection ({clean(str(error)) or 'too slow'})") from None
    except (TimeoutError, httpx2.TimeoutException):
        raise Fault("timeout", f"no reply within {seconds:g} s") from None
    except httpx2.RequestError as error:
        why = clean(str(error)) or type(error).__name__
        raise Fault("other", f"a broken connection ({why})") from None
    status, headers = response.status_code, response.headers
    if status < 300:
        return read_reply(bytes(data), reading, headers)
    if response.is_redirect:
        raise Refused(status, clean(f"redirects to {headers['location']}"))
    try:
        message, code, _ = error_of(parse_json(bytes(data)))
    except ValueError:
        message, code = "", ""
    return no_reply(status, message or data.decode("utf-8", "replace"), code, headers, clean)


def no_reply(
    status: int,
    message: str,
    code: str,
    headers: Mapping[str, str],
    clean: Callable[[str], str],
) -> Generation:
    """Return the empty reply that an error stands for: a prompt that is too long, or that a filter refused.

    Raises:
        Fault: a status that may heal.
        Refused: one that will not.
    """
    words = f"{code}\n{message}"
    if status == 413 or (status in _OF_THE_PROMPT and is_about_length(words)):
        return Generation("", "context_limit", 0, clean(message))
    if status in _OF_A_FILTER and is_about_a_filter(words):
        return Generation("", "content_filter", 0)
    may_heal = status in _HEALING or (status >= 500 and status not in _NEVER_HEALING)
    # A used-up quota is status 429, too, but waiting does not help.
    if not may_heal or code.startswith(("insufficient_", "billing_")):
        raise Refused(status, clean(message))
    kind: FaultKind = "rate_limit" if status == 429 else "other"
    raise Fault(kind, f"status {status} ({clean(message)})", seconds_to_wait(headers))


def seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that `Retry-After` asks for, given as seconds or as a date; None without it."""
    wait = headers.get("retry-after", "").strip()
    if (seconds := wait.removesuffix("s").strip()).replace(".", "", 1).isdecimal():
        return float(seconds)
    try:
        date = datetime.fromisoformat(wait) if wait[:4].isdecimal() else parsedate_to_datetime(wait)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def read_reply(
    body: bytes, reading: Reading, headers: Mapping[str, str] | None = None
) -> Generation:
    """Return the reply in the body of a status 200; an error in it counts by its code.

    A reply has some text, or its server states how it ended. An end that is none of `FinishReason` makes
    it `other`, with the server's word.

    Raises:
        Fault: no completion, no choice, or neither text nor end.
        Refused: an error that will not heal.
    """
    clean = reading.clean
    start = clean(body[:60].decode("utf-8", "replace"))
    try:
        answer = parse_json(body.decode("utf-8-sig", "replace"))
    except ValueError as error:
        what = f"no chat completion (JSON: {error}; it begins {start!r})"
        raise Fault("other", what) from None
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, Mapping):
        message, code, status = error_of(answer)
        if message:
            status = status or status_of_words(f"{code} {message}")
            return no_reply(status, message, code, headers or {}, clean)
        raise Fault("other", f"no chat completion, or one without choices (it begins {start!r})")
    said = choice.get("message") or choice.get("delta")
    said = {"content": said} if isinstance(said, str) else said
    said = said if isinstance(said, Mapping) else choice
    text, stated = _text(said), choice.get("finish_reason")
    if not (text or stated or _has_other_words(said)):
        message, code, status = error_of(answer) if answer.get("error") else ("", "", 0)
        if message:
            status = status or status_of_words(f"{code} {message}")
            return no_reply(status, message, code, headers or {}, clean)
        raise Fault("other", "a reply without content")
    finish, word = _end(stated, reading.whole)
    if not text and said.get("refusal"):
        finish, word = "content_filter", ""
    elif finish == "stop" and said.get("content") is None and not (text or _has_other_words(said)):
        finish, word = "other", f"{stated} without content"
    # vLLM answers with what follows the given beginning, llama.cpp's server with both.
    repeats = reading.prefill and text.lstrip().startswith(reading.prefill.strip())
    text = text if repeats else reading.prefill + text
    text = without_reasoning(text.strip(), is_cut=finish != "stop")
    usage = answer.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    reading.count(usage)
    num = usage.get("completion_tokens")
    return Generation(text, finish, num if isinstance(num, int) and num > 0 else 0, clean(word))


def _end(stated: Any, whole: tuple[str, ...]) -> tuple[FinishReason, str]:
    """Return the finish reason of a reply, and the server's word if it is an unknown one."""
    word = str(stated) if stated else NO_END
    if word in whole:
        return "stop", ""
    finish = _ENDS.get(word, "other")
    return finish, word[:_LONGEST_END] if finish == "other" else ""


def _text(said: Mapping[str, Any]) -> str:
    """Return the text of a message or a text completion: a string, or parts of which those of text count."""
    content = said.get("content")
    if content is None:
        content = said.get("text")
    parts = content if isinstance(content, list) else [content]
    text = "".join(map(_part, parts))
    # No file can store halves of surrogate pairs.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _part(part: Any) -> str:
    """Return the text of a part of a message; "" for thinking, images and calls of tools."""
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping) or part.get("type") not in (None, "text", "output_text"):
        return ""
    text = part.get("text")
    # An older form of the text part has its value one level deeper.
    text = text.get("value") if isinstance(text, Mapping) else text
    return text if isinstance(text, str) else ""


def _has_other_words(said: Mapping[str, Any]) -> bool:
    return any(said.get(name) for name in ("refusal", "reasoning", "reasoning_content"))
