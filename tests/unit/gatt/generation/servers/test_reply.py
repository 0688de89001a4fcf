"""Bodies of answers: what is a reply, and what is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatt.generation.base import Generation
from gatt.generation.servers.http import Fault, Refused
from gatt.generation.servers.reply import (
    context_tokens_in,
    generation_of,
    is_same_model,
    read_reply,
)

NESTED = b"[" * 100_000 + b"]" * 100_000


def read(body: bytes, prefill: str = "") -> Generation:
    return read_reply(body, prefill, ("m",), str)


def answer(content: Any = "Hi", finish: Any = "stop", model: Any = "m", **message: Any) -> bytes:
    choice = {"finish_reason": finish, "message": {"content": content, **message}}
    usage = {"completion_tokens": 4}
    return json.dumps({"model": model, "choices": [choice], "usage": usage}).encode()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (answer(" Hi \n"), Generation("Hi", "stop", 4)),
        (answer("Hi", "length"), Generation("Hi", "length", 4)),
        (answer("", "content_filter"), Generation("", "content_filter", 4)),
        (answer(None, "length"), Generation("", "length", 4)),
        (answer(None, refusal="I will not"), Generation("", "content_filter", 4)),
        (answer(None, reasoning_content="hm"), Generation("", "stop", 4)),
        (answer(model=None), Generation("Hi", "stop", 4)),
        (
            b'{"choices": [{"finish_reason": "stop", "message": {"content": "Hi"}}], "usage": null}',
            Generation("Hi", "stop", 0),
        ),
    ],
)
def test_replies(body: bytes, expected: Generation) -> None:
    assert read(body) == expected
    assert read(answer(" river."), prefill="I like the").text == "I like the river."


@pytest.mark.parametrize(
    ("body", "kind", "facts"),
    [
        (b'{"choices": [{"fin', "reply", ("JSON", '{"choices": [{"fin')),
        (b"\xff{}", "reply", ("JSON",)),
        (b"", "reply", ("JSON",)),
        (b"[1]", "reply", ("object",)),
        (b"{}", "reply", ("choices",)),
        (b'{"choices": [], "error": "busy"}', "reply", ("choices", "busy")),
        (b'{"choices": ["Hi"]}', "reply", ("choices.0",)),
        (answer(finish="tool_calls"), "reply", ("finish_reason", "stop", "length")),
        (answer(finish=None), "reply", ("finish_reason",)),
        (answer(None), "reply", ("content",)),
        (answer(["Hi"]), "reply", ("content", "string")),
        (b'{"choices": [{"finish_reason": "stop"}]}', "reply", ("message",)),
        (answer("\ud83d"), "reply", ()),
        (answer(model="n"), "model", ("'n'",)),
        (NESTED, "reply", ()),
        (b'{"choices": [{"finish_reason": ' + NESTED + b"}]}", "reply", ()),
        (b'{"choices": [], "error": ' + NESTED + b"}", "reply", ()),
    ],
)
def test_what_is_no_reply(body: bytes, kind: str, facts: tuple[str, ...]) -> None:
    with pytest.raises(Fault) as caught:
        read(body)
    assert caught.value.kind == kind
    assert [fact for fact in facts if fact not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("status", "message", "code", "finish", "num_tokens"),
    [
        (400, "This model's maximum context length is 4096 tokens. You asked for 5000.", "",
         "context_limit", 4096),
        (400, "too long", "context_length_exceeded", "context_limit", None),
        (400, "The input (9 tokens) is longer than the model's context length (8 tokens).", "",
         "context_limit", 8),
        (413, "the request exceeds the available context size (512 tokens)", "", "context_limit", 512),
        (400, "no", "content_filter", "content_filter", None),
        (400, "5000 tokens are too many", "", None, None),
        (404, "maximum context length", "", None, None),
    ],
)  # fmt: skip
def test_refusals_that_stand_for_a_generation(status, message, code, finish, num_tokens) -> None:
    expected = None if finish is None else Generation("", finish, 0)
    assert generation_of(Refused(status, message, code)) == expected
    assert context_tokens_in(message) == num_tokens


@pytest.mark.parametrize(
    ("asked", "said", "is_same"),
    [
        ("m", "m", True), ("org/m", "m", True), ("m", "/models/m", True), ("m", "m@main", True),
        ("m", "m:latest", True), ("gpt-x", "gpt-x-2024-08-06", True), ("m", "n", False),
        ("llama-3", "llama-3-1", False), ("one/m", "two/m", False), ("m", "m-base", False),
        ("m", "m:7b", False),
    ],
)  # fmt: skip
def test_names_of_one_model(asked: str, said: str, is_same: bool) -> None:
    assert is_same_model(asked, said) == is_same
