"""Turns the body of an answer into a generation."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

from pydantic import BaseModel, ValidationError

from gatt.generation.base import FinishReason, Generation
from gatt.generation.reasoning import without_reasoning
from gatt.generation.servers.http import Fault, Refused

_TOO_LONG: Final = (
    "maximum context length",  # vLLM, OpenAI
    "context_length_exceeded",
    "longer than the model's context",  # SGLang
    "exceed_context_size",  # llama.cpp
    "exceeds the available context",
)
_CONTEXT: Final = re.compile(r"(?i)context (?:length|size)(?: is| of)?:? ?\(?(\d{1,9})\b")


class _Message(BaseModel):
    content: str | None = None
    refusal: Any = None
    reasoning: Any = None
    reasoning_content: Any = None


class _Choice(BaseModel):
    finish_reason: Literal["stop", "length", "content_filter"]
    message: _Message


class _Completion(BaseModel):
    model: Any = None
    choices: list[_Choice] = []
    usage: Any = None
    error: Any = None


def read_reply(
    body: bytes, prefill: str, names: Sequence[str], clean: Callable[[str], str]
) -> Generation:
    """Return the reply in the body of a 200.

    Args:
        body: JSON of a chat completion.
        prefill: given beginning of the reply; the text starts with it, after reasoning is removed.
        names: accepted names of the model.
        clean: removes keys from messages.

    Raises:
        Fault: no chat completion, no choice, no text, or another model.
    """
    try:
        answer = _Completion.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "body"
        start = clean(body[:60].decode("utf-8", "replace"))
        what = f"no chat completion ({place}: {clean(first['msg'])}; it begins {start!r})"
        raise Fault("reply", what) from None
    said = answer.model
    if said and isinstance(said, str) and not any(is_same_model(name, said) for name in names):
        raise Fault("model", f"the reply is model {clean(said)!r}'s")
    if not answer.choices:
        raise Fault("reply", f"a reply without choices (error: {clean(str(answer.error))})")
    message, finish = answer.choices[0].message, answer.choices[0].finish_reason
    end: FinishReason = finish
    if message.content is None and message.refusal:
        end = "content_filter"
    has_reason = end != "stop" or message.reasoning or message.reasoning_content
    if message.content is None and not has_reason:
        raise Fault("reply", "a reply without content")
    text = without_reasoning((prefill + (message.content or "")).strip(), is_cut=end != "stop")
    num = answer.usage.get("completion_tokens") if isinstance(answer.usage, dict) else 0
    return Generation(text, end, num if isinstance(num, int) and num > 0 else 0)


def generation_of(refused: Refused) -> Generation | None:
    """Return the empty generation for a prompt that is too long or was filtered; None for other refusals."""
    said = f"{refused.code} {refused.message}".lower()
    if refused.status in (400, 413, 422) and any(mark in said for mark in _TOO_LONG):
        return Generation("", "context_limit", 0)
    if refused.status == 400 and refused.code == "content_filter":
        return Generation("", "content_filter", 0)
    return None


def context_tokens_in(message: str) -> int | None:
    """Return the length of the context that a refusal names; None without one."""
    found = _CONTEXT.search(message)
    return int(found[1]) if found else None


def is_same_model(asked: str, said: str) -> bool:
    """Whether the name in a reply, `said`, is a form of the model's name, `asked`.

    Forms are: a path that ends in the name; the name with a revision (`name@main`, from
    `transformers serve`), a default tag (`name:latest`) or a date (`name-2024-08-06`).
    """
    if said.startswith(asked):
        return bool(re.fullmatch(r"(@.+|:latest|-\d{4}-\d{2}-\d{2})?", said[len(asked) :]))
    one, other = f"/{asked.strip('/')}", f"/{said.strip('/')}"
    return one.endswith(other) or other.endswith(one)
