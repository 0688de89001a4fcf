"""Bodies of answers: what is a reply, and what is none; and what the words of an error mean."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from gatt.generation.base import Generation
from gatt.generation.servers.answer import (
    Fault,
    Reading,
    Refused,
    no_reply,
    read_reply,
    seconds_to_wait,
)
from gatt.generation.servers.wording import is_about_length

NESTED = b"[" * 100_000 + b"]" * 100_000
PARTS = [
    {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hi"}, {"type": "text", "text": "!"},
    {"type": "image_url", "image_url": {"url": "x"}},
]  # fmt: skip


def read(body: bytes, prefill: str = "", *whole: str) -> Generation:
    return read_reply(body, Reading(prefill, str, ("stop", *whole)))


def completion(choice: Any, **more: Any) -> bytes:
    return json.dumps({"choices": [choice], "usage": {"completion_tokens": 4}} | more).encode()


def answer(content: Any = "Hi", finish: Any = "stop", **message: Any) -> bytes:
    return completion({"finish_reason": finish, "message": {"content": content, **message}})


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (answer(" Hi \n"), Generation("Hi", "stop", 4)),
        (answer("Hi", "length"), Generation("Hi", "length", 4)),
        (answer("", "content_filter"), Generation("", "content_filter", 4)),
        (answer(None, "length"), Generation("", "length", 4)),
        (answer(None, refusal="I will not"), Generation("", "content_filter", 4)),
        (answer(None, reasoning_content="hm"), Generation("", "stop", 4)),
        (answer(PARTS), Generation("Hi!", "stop", 4)),
        (answer(["Hi", {"text": {"value": "!"}}]), Generation("Hi!", "stop", 4)),
        (answer("a\ud83db"), Generation("a\ufffdb", "stop", 4)),
        (answer("\U0001f600"), Generation("\U0001f600", "stop", 4)),
        (b"\xef\xbb\xbf" + answer("Hi"), Generation("Hi", "stop", 4)),
        (answer("H~").replace(b"~", b"\xff"), Generation("H\ufffd", "stop", 4)),
        (completion({"finish_reason": "stop", "text": "Hi"}), Generation("Hi", "stop", 4)),
        (completion({"finish_reason": "stop", "message": "Hi"}), Generation("Hi", "stop", 4)),
        (completion({"finish_reason": "stop", "delta": {"content": "Hi"}}), Generation("Hi", "stop", 4)),
        (completion({"finish_reason": "stop", "message": {"content": "Hi"}}, usage=None, error=None),
         Generation("Hi", "stop", 0)),
        # Ends that are none of ours, each with the server's word.
        *((answer("Hi", end), Generation("Hi", "other", 4, str(end))) for end in (
            "eos", "stop_sequence", "STOP", "MAX_TOKENS", "safety", "refusal", "tool_calls", 7)),
        (answer("Hi", None), Generation("Hi", "other", 4, "none")),
        (completion({"message": {"content": "Hi"}}), Generation("Hi", "other", 4, "none")),
        (answer(None, "guardrail_intervened"), Generation("", "other", 4, "guardrail_intervened")),
        (completion({"finish_reason": "error", "message": None, "error": {"code": 502}}),
         Generation("", "other", 4, "error")),
        (answer(None), Generation("", "other", 4, "stop without content")),
        (answer({"a": 1}, "x" * 99), Generation("", "other", 4, "x" * 40)),
    ],
)  # fmt: skip
def test_replies(body: bytes, expected: Generation) -> None:
    assert read(body) == expected


def test_a_given_beginning_and_words_for_a_whole_reply() -> None:
    for said in (" river.", "I like the river."):
        assert read(answer(said), "I like the").text == "I like the river."
    assert read(answer("Hi", "eos"), "", "eos") == Generation("Hi", "stop", 4)
    assert read(answer("Hi", None), "", "eos", "none") == Generation("Hi", "stop", 4)


@pytest.mark.parametrize(
    ("body", "facts"),
    [
        (b'{"choices": [{"fin', ("JSON", '{"choices": [{"fin')),
        (b"", ("JSON",)),
        (b"<html>busy</html>", ("JSON", "<html>busy")),
        (b"[1]", ("choices", "[1]")),
        (b"null", ("choices", "null")),
        (b'{"choices": []}', ("choices",)),
        (b'{"choices": {"a": 1}}', ("choices",)),
        (b'{"choices": ["Hi"]}', ("choices",)),
        (answer(None, None), ("content",)),
        (b'{"choices": [{"message": {"content": 7}}]}', ("content",)),
        (NESTED, ("JSON",)),
        (b'{"choices": [], "error": ' + NESTED + b"}", ("JSON",)),
        (b'{"choices": [], "error": "busy"}', ("busy",)),
        (b'{"error": {"code": 502, "message": "gone"}}', ("502", "gone")),
    ],
)
def test_what_is_no_reply(body: bytes, facts: tuple[str, ...]) -> None:
    with pytest.raises(Fault) as caught:
        read(body)
    assert caught.value.kind == "other"
    assert [fact for fact in facts if fact not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"error": {"code": 429, "message": "slow down"}}, "rate_limit"),
        ({"error": {"code": "429", "message": "slow down"}}, "rate_limit"),
        ({"error": {"type": "rate_limit_error", "message": "slow down"}}, "rate_limit"),
        ({"error": "Too many requests"}, "rate_limit"),
        ({"object": "error", "code": 503, "message": "no GPU"}, "other"),
        ({"detail": "overloaded"}, "other"),
        ({"error": {"code": "insufficient_quota", "message": "pay"}}, 429),
        ({"error": {"code": 401, "message": "who?"}}, 401),
        ({"error": {"code": "invalid_api_key", "message": "who?"}}, 401),
        ({"error": {"type": "invalid_request_error", "message": "no seed"}}, 400),
        ({"error": {"code": "context_length_exceeded", "message": "no"}}, "context_limit"),
        ({"error": {"code": 400, "message": "prompt is too long: 9 tokens > 8"}}, "context_limit"),
        ([{"error": {"code": 429, "message": "slow down"}}], "rate_limit"),
        ({"errors": [{"error": {"status": "RESOURCE_EXHAUSTED", "message": "no"}}]}, "rate_limit"),
        ({"error": True, "message": "rate limit exceeded"}, "rate_limit"),
        ({"choices": None, "base_resp": {"status_code": 1002, "status_msg": "rate limit"}}, "rate_limit"),
        ({"choices": [{"message": {}}], "error": {"code": 429, "message": "slow"}}, "rate_limit"),
        ({"error": "You exceeded your daily token limit"}, "rate_limit"),
        ({"message": {"role": "assistant", "content": "Hi"}, "done": True}, "other"),
        ({"error": {"code": 400, "message": "Content Exists Risk"}}, "content_filter"),
        ({"error": {"code": 403, "message": "The input was flagged by moderation"}}, "content_filter"),
    ],
)  # fmt: skip
def test_an_error_with_status_200_counts_by_its_code(error: Any, expected: str | int) -> None:
    body = json.dumps(error).encode()
    if expected in ("context_limit", "content_filter"):
        assert read(body).finish == expected
        return
    with pytest.raises((Fault, Refused)) as caught:
        read(body)
    found = caught.value
    assert expected == (found.kind if isinstance(found, Fault) else found.status)


def test_prompts_that_are_too_long_are_known_in_any_words() -> None:
    words = yaml.safe_load(Path(__file__).with_name("error_words.yaml").read_text("utf-8"))
    assert [text for text in words["too_long"] if not is_about_length(text)] == []
    assert [text for text in words["other"] if is_about_length(text)] == []


def test_the_pause_that_a_server_asks_for() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    iso = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    for given in (date, iso):
        assert 3500 < (seconds_to_wait({"retry-after": given}) or 0) <= 3600
    assert seconds_to_wait({"retry-after": "30s"}) == 30
    assert seconds_to_wait({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0
    assert seconds_to_wait({"retry-after": "0.5"}) == 0.5
    assert [seconds_to_wait(h) for h in ({}, {"retry-after": "soon"}, {"retry-after": "-3"})] == [
        None
    ] * 3


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, 'Invalid JSON payload received. Unknown name "safety_settings": Cannot find field.'),
        (422, 'unknown field "content_filter"'),
        (400, "Guardrail not found: my-guard"),
        (403, "Your organization has been flagged for violating our usage policies."),
        (500, "Failed to load safety checker model"),
    ],
)
def test_an_error_about_a_filter_is_no_filtered_reply(status: int, words: str) -> None:
    with pytest.raises(Fault if status == 500 else Refused):
        no_reply(status, words, "", {}, str)
    assert (
        no_reply(400, "The prompt was flagged by the content filter.", "", {}, str).finish
        == "content_filter"
    )
