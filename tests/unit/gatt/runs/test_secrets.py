"""Keys and passwords are found by name and by form, and shown nowhere."""

from __future__ import annotations

import pytest

from gatt.runs.secrets import key_in, public


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("key tok-1 is\n bad: tok-1", "key [key] is bad: [key]"),
        ("Authorization: Bearer other.key-2, again", "Authorization: [key], again"),
        ("Incorrect API key provided: sk-ab***yz.", "Incorrect API key provided: [key]"),
        ("a risk-free task", "a risk-free task"),
        ("x" * 400, "x" * 300 + " …"),
    ],
)
def test_what_is_said_is_shown_without_keys(said: str, shown: str) -> None:
    assert public(said, "tok-1") == shown


def test_no_part_of_a_key_is_left_where_a_text_is_cut() -> None:
    assert "tok" not in public("y" * 298 + " tok-secret", "tok-secret")


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"api_key": "abc"}, "api_key"),
        ({"headers": {"Authorization": "Basic abc"}}, "headers.Authorization"),
        ({"provider": [{"x": 1}, {"clientSecret": "abc"}]}, "provider.1.clientSecret"),
        ({"note": ["for gsk_Abc4Def5Ghi6Jkl"]}, "note.0"),
        ({"top_k": -1, "chat_template_kwargs": {"enable_thinking": False}}, None),
        ({"eos_token": "</s>", "stop_token_ids": [1, 2], "prompt_cache_key": "run-1"}, None),
        ({"api_key": "", "token": None, "min_tokens": 3}, None),
        ({"guided_json": {"properties": {"password": {"type": "string"}}}}, None),
        ({"language": "sk-SK", "bearer_of": "bearer arms"}, None),
    ],
)
def test_keys_in_further_fields_are_found_by_name_and_by_form(value, place) -> None:
    assert key_in(value) == place
