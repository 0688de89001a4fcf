"""Bodies of answers: what is a reply, and what is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatt.generation.base import Generation
from gatt.generation.servers.faults import Fault, Refused
from gatt.generation.servers.model_names import is_same_model, not_served
from gatt.generation.servers.reply import context_tokens_in, generation_of, read_reply

NESTED = b"[" * 100_000 + b"]" * 100_000


def read(body: bytes, prefill: str = "") -> Generation:
    return read_reply(body, prefill=prefill, is_asked=lambda name: name == "m", clean=str)


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


def test_the_text_starts_with_what_was_given() -> None:
    assert read(answer(" river."), prefill="I like the").text == "I like the river."


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"choices": [{"fin', r"a reply that is no JSON \(it begins '{\"choices\": \[{\"fin'\)"),
        (b"\xff{}", "a reply that is no JSON"),
        (b"", "a reply that is no JSON"),
        (b"[1]", "a reply that is a JSON list, not an object"),
        (b"{}", r"a reply without choices \(error: none\)"),
        (b'{"choices": [], "error": "busy"}', r'a reply without choices \(error: "busy"\)'),
        (b'{"choices": ["Hi"]}', "a reply without choices"),
        (answer(finish="tool_calls"), "finish_reason is 'tool_calls': expected stop, length, con"),
        (answer(finish=None), "finish_reason is None"),
        (answer(None), "a reply without content"),
        (answer(["Hi"]), "content is list: expected a text"),
        (b'{"choices": [{"finish_reason": "stop"}]}', "a choice without a message"),
        (answer("\ud83d"), "a reply with half a character"),
        (answer(model="n"), "the reply is model 'n''s"),
        (NESTED, "a reply that is nested too deeply to be one"),
        (b'{"choices": [{"finish_reason": ' + NESTED + b"}]}", "nested too deeply"),
        (b'{"choices": [], "error": ' + NESTED + b"}", "nested too deeply"),
    ],
)
def test_what_is_no_reply(body: bytes, message: str) -> None:
    with pytest.raises(Fault, match=message):
        read(body)


@pytest.mark.parametrize(
    ("status", "message", "code", "finish"),
    [
        (400, "This model's maximum context length is 4096 tokens.", "", "context_limit"),
        (400, "too long", "context_length_exceeded", "context_limit"),
        (400, "The input (9 tokens) is longer than the model's context length (8 tokens).", "",
         "context_limit"),
        (400, "the request exceeds the available context size", "", "context_limit"),
        (400, "no", "content_filter", "content_filter"),
        (400, "no", "", None),
        (404, "maximum context length", "", None),
    ],
)  # fmt: skip
def test_refusals_that_stand_for_a_generation(status, message, code, finish) -> None:
    expected = None if finish is None else Generation("", finish, 0)
    assert generation_of(Refused(status, message, code)) == expected


@pytest.mark.parametrize(
    ("message", "num"),
    [
        ("This model's maximum context length is 4096 tokens. You asked for 5000.", 4096),
        ("The input (9 tokens) is longer than the model's context length (8 tokens).", 8),
        ("the request exceeds the available context size (512 tokens)", 512),
        ("too long for context length", None),
        ("5000 tokens are too many", None),
    ],
)
def test_the_length_of_the_context_is_read_where_it_is_said(message, num) -> None:
    assert context_tokens_in(message) == num


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("m", "m"),
        ("org/m", "m"),
        ("m", "/models/m"),
        ("m", "m@main"),
        ("m", "m:latest"),
        ("gpt-x", "gpt-x-2024-08-06"),
        ("alias", "/data/checkpoint"),
    ],
)
def test_forms_of_one_name(asked: str, said: str) -> None:
    assert is_same_model(asked, said, {"alias": "/data/checkpoint"})


@pytest.mark.parametrize(
    ("asked", "said"),
    [("m", "n"), ("llama-3", "llama-3-1"), ("one/m", "two/m"), ("m", "m-base"), ("m", "m:7b")],
)
def test_other_models(asked: str, said: str) -> None:
    assert not is_same_model(asked, said)


def test_a_long_list_of_models_is_cut() -> None:
    said = not_served("x", {f"m{n}": "" for n in range(8)})
    assert said.startswith("serves no model 'x' (it lists 'm0', 'm1', 'm2', 'm3', 'm4' and 3 more)")
    assert not_served("x", {}) == "serves no model 'x' (it lists nothing)"
