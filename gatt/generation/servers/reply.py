"""From the body of an answer to a generation, or to the fault that it is none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from gatt.generation.base import FinishReason, Generation
from gatt.generation.reasoning import without_reasoning
from gatt.generation.servers.faults import Fault, Refused

_FINISHES: Final[Mapping[str, FinishReason]] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
}
_TOO_LONG: Final = (
    "maximum context length",  # vLLM, OpenAI
    "context_length_exceeded",
    "longer than the model's context",  # SGLang
    "exceed_context_size",  # llama.cpp
    "exceeds the available context",
)

_CONTEXT: Final = re.compile(r"(?i)context (?:length|size)(?: is| of)?:? ?\(?(\d{1,9})\b")


def read_reply(
    body: bytes, *, prefill: str, is_asked: Callable[[str], bool], clean: Callable[[str], str]
) -> Generation:
    """Return the reply in the body of a 200.

    Args:
        body: JSON of a chat completion.
        prefill: beginning of the reply that was given; the text starts with it, without reasoning.
        is_asked: whether a model's name is that of the one asked.
        clean: makes what the server said fit for a message.

    Raises:
        Fault: broken JSON, no choice, no text, another model, an unknown end.
    """
    try:
        return _generation(_parsed(body, clean), prefill, is_asked, clean)
    except RecursionError:
        # Parsing meets Python's limit, as does whatever shows what was parsed.
        raise Fault("reply", "a reply that is nested too deeply to be one") from None


def _generation(
    answer: dict[str, Any],
    prefill: str,
    is_asked: Callable[[str], bool],
    clean: Callable[[str], str],
) -> Generation:
    said = answer.get("model")
    if isinstance(said, str) and said and not is_asked(said):
        raise Fault("model", f"the reply is model {clean(said)!r}'s")
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        found = clean(json.dumps(answer["error"])) if answer.get("error") else "none"
        raise Fault("reply", f"a reply without choices (error: {found})")
    choice = choices[0]
    finish = _FINISHES.get(str(choice.get("finish_reason")))
    if finish is None:
        found = clean(repr(choice.get("finish_reason")))
        raise Fault("reply", f"finish_reason is {found}: expected {', '.join(_FINISHES)}")
    text, finish = _text(choice.get("message"), finish)
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise Fault("reply", "a reply with half a character")
    reply = without_reasoning((prefill + text).strip(), is_cut=finish != "stop")
    return Generation(reply, finish, _num_tokens(answer.get("usage")))


def generation_of(refused: Refused) -> Generation | None:
    """Return the generation that a refusal stands for: no room in the context, or a filter."""
    said = f"{refused.code} {refused.message}".lower()
    if refused.status in (400, 413, 422) and any(mark in said for mark in _TOO_LONG):
        return Generation("", "context_limit", 0)
    if refused.status == 400 and refused.code == "content_filter":
        return Generation("", "content_filter", 0)
    return None


def context_tokens_in(message: str) -> int | None:
    """Return the length of the context that a server names when it refuses a prompt, if it does."""
    found = _CONTEXT.search(message)
    return int(found[1]) if found else None


def _parsed(body: bytes, clean: Callable[[str], str]) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except ValueError:
        start = clean(body[:60].decode("utf-8", "replace"))
        raise Fault("reply", f"a reply that is no JSON (it begins {start!r})") from None
    if not isinstance(answer, dict):
        raise Fault("reply", f"a reply that is a JSON {type(answer).__name__}, not an object")
    return answer


def _text(message: object, finish: FinishReason) -> tuple[str, FinishReason]:
    """Return text and end; where there is no text, only if something says why."""
    if not isinstance(message, dict):
        raise Fault("reply", "a choice without a message")
    text = message.get("content")
    if isinstance(text, str):
        return text, finish
    if text is not None:
        raise Fault("reply", f"content is {type(text).__name__}: expected a text")
    if message.get("refusal"):
        return "", "content_filter"
    has_thought = message.get("reasoning_content") or message.get("reasoning")
    if has_thought or finish != "stop":
        return "", finish
    raise Fault("reply", "a reply without content")


def _num_tokens(usage: object) -> int:
    num = usage.get("completion_tokens") if isinstance(usage, dict) else 0
    return num if isinstance(num, int) and num > 0 else 0
