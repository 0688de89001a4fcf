"""Bodies of answers: what is a reply, and what is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatt.generation.base import Generation
from gatt.generation.servers.answer import Fault, read_reply

NESTED = b"[" * 100_000 + b"]" * 100_000


def read(body: bytes, prefill: str = "") -> Generation:
    return read_reply(body, prefill, str)


def answer(content: Any = "Hi", finish: Any = "stop", **message: Any) -> bytes:
    choice = {"finish_reason": finish, "message": {"content": content, **message}}
    usage = {"completion_tokens": 4}
    return json.dumps({"choices": [choice], "usage": usage}).encode()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (answer(" Hi \n"), Generation("Hi", "stop", 4)),
        (answer("Hi", "length"), Generation("Hi", "length", 4)),
        (answer("", "content_filter"), Generation("", "content_filter", 4)),
        (answer(None, "length"), Generation("", "length", 4)),
        (answer(None, refusal="I will not"), Generation("", "content_filter", 4)),
        (answer(None, reasoning_content="hm"), Generation("", "stop", 4)),
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
    ("body", "facts"),
    [
        (b'{"choices": [{"fin', ("JSON", '{"choices": [{"fin')),
        (b"", ("JSON",)),
        (b"[1]", ("object",)),
        (b'{"choices": [], "error": "busy"}', ("choices", "busy")),
        (answer(finish="tool_calls"), ("finish_reason", "stop", "length")),
        (answer(None), ("content",)),
        (answer(["Hi"]), ("content", "string")),
        (answer("\ud83d"), ()),
        (NESTED, ()),
        (b'{"choices": [], "error": ' + NESTED + b"}", ()),
    ],
)
def test_what_is_no_reply(body: bytes, facts: tuple[str, ...]) -> None:
    with pytest.raises(Fault) as caught:
        read(body)
    assert caught.value.kind == "other"
    assert [fact for fact in facts if fact not in str(caught.value)] == []
