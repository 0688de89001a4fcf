"""Bodies of answers: what is a reply, and what is none; and what the words of an error mean."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from gatt.generation.base import Generation
from gatt.generation.servers.answer import Fault, Reading, Refused, read_reply, seconds_to_wait
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
    assert read(answer(" river."), "I like the").text == "I like the river."
    assert read(answer("Hi", "eos"), "", "eos") == Generation("Hi", "stop", 4)
    assert read(answer("Hi", None), "", "eos", "none") == Generation("Hi", "stop", 4)


@pytest.mark.parametrize(
    ("body", "facts"),
    [
        (b'{"choices": [{"fin', ("JSON", '{"choices": [{"fin')),
        (b"", ("JSON",)),
        (b"<html>busy</html>", ("JSON", "<html>busy")),
        (b"[1]", ("object",)),
        (b"null", ("object",)),
        (b'{"choices": []}', ("choices",)),
        (b'{"choices": {"a": 1}}', ("choices",)),
        (b'{"choices": ["Hi"]}', ("choices",)),
        (answer(None, None), ("content",)),
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
    ],
)
def test_an_error_with_status_200_counts_by_its_code(error: Any, expected: str | int) -> None:
    body = json.dumps(error).encode()
    if expected == "context_limit":
        assert read(body).finish == expected
        return
    with pytest.raises((Fault, Refused)) as caught:
        read(body)
    found = caught.value
    assert expected == (found.kind if isinstance(found, Fault) else found.status)


TOO_LONG = """
Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).
max_tokens must be at least 1, got -7584
prompt is too long: 203456 tokens > 200000 maximum
This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.
context_length_exceeded
too many tokens: 9000 > 8192
max_new_tokens must be > 0
`max_new_tokens` must be strictly positive
The input (8211 tokens) is longer than the model's context length (8192 tokens).
the request exceeds the available context size. try increasing the context size or enable context shift
exceed_context_size_error
too many tokens: total number of tokens in the prompt cannot exceed 4081
The input token count (1189603) exceeds the maximum number of tokens allowed (1048576).
Input is too long for requested model.
Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length
Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 500 `max_new_tokens`
Input validation error: `inputs` must have less than 1024 tokens. Given: 5000
Please reduce the length of the messages or completion.
Requested tokens (5000) exceed context window of 4096
prompt token count of 9000 exceeds the limit of 8000
This model's maximum prompt length is 131072 but the request contains 537812 tokens.
Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens
input length and `max_tokens` exceed context limit: 199000 + 20000 > 200000, decrease input length or `max_tokens` and try again
The decoder prompt (length 5000) is longer than the maximum model length of 4096.
Range of input length should be [1, 129024]
Prompt 超长
[{"type": "greater_than_equal", "loc": ["body", "max_tokens"], "msg": "Input should be greater than or equal to 1"}]
'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context length is 4096 tokens and your request has 3500 input tokens (1000 > 4096 - 3500).
Request Entity Too Large
tokens_limit_reached
prompt_too_long
model_context_window_exceeded
max_completion_tokens should be a positive integer
Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got -22 instead.
The sum of prompt length (5000.0), query length (0) should not exceed max_num_tokens (4096)
Conversation too long: 10123 tokens, limit 8192
Token limit exceeded
your messages resulted in 9001 tokens, which is over the limit of 8192
sequence length is longer than the specified maximum sequence length for this model (5000 > 4096)
n_predict must be positive
"""
OTHER_WORDS = """
Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.
max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.
temperature must be less than 2
[{"type": "less_than_equal", "loc": ["body", "temperature"], "msg": "Input should be less than or equal to 2", "ctx": {"le": 2.0}}]
rpc error: context deadline exceeded
Unknown field 'seed'
Conversation roles must alternate user/assistant/user/assistant/...
messages: at least one message is required
max_tokens is not supported with gpt-5
too many stop sequences, at most 4
Invalid 'temperature': decimal below minimum value. Expected a value >= 1
The model `x` does not exist
CUDA out of memory. Tried to allocate 20 MiB
Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.
Rate limit reached: 40000 tokens per minute
top_p must be in (0, 1], got 0.0
seed must be less than 2147483648
string too short
Invalid 'max_output_tokens': Expected a value >= 16, but got 10 instead.
Internal Server Error
Only one of temperature and top_p may be set; max_tokens must be set
`temperature` must be strictly positive
presence_penalty must be at least -2.0
logprobs must be non-negative
'system' role is not supported in messages
Extra inputs are not permitted
[{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]
"""


def test_prompts_that_are_too_long_are_known_in_any_words() -> None:
    assert [words for words in TOO_LONG.split("\n")[1:-1] if not is_about_length(words)] == []
    assert [words for words in OTHER_WORDS.split("\n")[1:-1] if is_about_length(words)] == []


def test_the_pause_that_a_server_asks_for() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    assert 3500 < (seconds_to_wait({"retry-after": date}) or 0) <= 3600
    assert seconds_to_wait({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0
    assert seconds_to_wait({"retry-after": "0.5"}) == 0.5
    assert [seconds_to_wait(h) for h in ({}, {"retry-after": "soon"}, {"retry-after": "-3"})] == [None] * 3
