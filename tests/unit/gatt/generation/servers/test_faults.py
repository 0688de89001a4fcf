"""What statuses and Retry-After mean, and keys that stay hidden."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gatt.errors import ConfigError
from gatt.generation.servers.api_keys import is_key_name, key_in, public, read_key
from gatt.generation.servers.faults import Fault, Refused, outcome_of_status, retry_after

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("Thu, 01 Jan 2026 12:00:30 GMT", 30.0),
        ("Thu, 01 Jan 2026 13:00:30 +0100", 30.0),
        ("Thu, 01 Jan 2026 11:00:00 -0000", 0.0),
        ("soon", None),
        ("inf", None),
        ("nan", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}, NOW) == seconds


def test_without_the_header_there_is_no_wait() -> None:
    assert retry_after({}, NOW) is None


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (408, "status"), (409, "status"), (425, "status"), (429, "rate_limit"), (500, "status"),
        (502, "status"), (503, "overload"), (504, "status"), (529, "overload"),
    ],
)  # fmt: skip
def test_statuses_that_may_heal(status: int, kind: str) -> None:
    found = outcome_of_status(status, "busy", "", {"retry-after": "2"})
    assert isinstance(found, Fault)
    assert (found.kind, found.what, found.retry_after) == (kind, f"status {status} (busy)", 2.0)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 413, 418, 422, 501, 505])
def test_statuses_that_will_not_heal(status: int) -> None:
    found = outcome_of_status(status, "no", "why", {})
    assert isinstance(found, Refused)
    assert (str(found), found.code) == (f"status {status}: no", "why")


def test_an_empty_quota_does_not_heal() -> None:
    assert isinstance(outcome_of_status(429, "pay", "insufficient_quota", {}), Refused)


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", " abc\n")
    assert read_key("SOME_KEY") == "abc"
    monkeypatch.delenv("SOME_KEY")
    assert read_key("SOME_KEY") == ""


@pytest.mark.parametrize("value", ["two words", "ümlaut", "a\nb"])
def test_a_key_that_no_header_can_carry_is_refused_unseen(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("SOME_KEY", value)
    with pytest.raises(
        ConfigError, match="environment variable SOME_KEY: expected a key"
    ) as caught:
        read_key("SOME_KEY")
    assert value not in str(caught.value)


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


@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_key_that_was_named_must_be_there(monkeypatch: pytest.MonkeyPatch, value) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("SOME_KEY", value)
    assert read_key("SOME_KEY") == ""
    with pytest.raises(
        ConfigError,
        match=r"SOME_KEY, which server.api_key_env names, is not set or empty: expected",
    ):
        read_key("SOME_KEY", is_needed=True)


@pytest.mark.parametrize(
    ("text", "is_name"),
    [
        ("OPENAI_API_KEY", True),
        ("_KEY", True),
        ("TEAM42_KEY_2026", True),
        ("INTERNATIONALIZATION_KEY", True),
        ("gsk_SECRET123", False),
        ("sk-abc", False),
        ("my_key", False),
        ("AKIAIOSFODNN7EXAMPLE", False),
        ("PROD_A1B2C3D4E5F60718", False),
        ("2KEY", False),
        ("$OPENAI_API_KEY", False),
        ("OPENAI_API_KEY\n", False),
        ("", False),
    ],
)
def test_names_of_variables_are_told_from_keys(text: str, is_name: bool) -> None:
    assert is_key_name(text) == is_name


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"api_key": "abc"}, "api_key"),
        ({"top_k": 1, "API-Key": "abc"}, "API-Key"),
        ({"headers": {"Authorization": "Basic abc"}}, "headers.Authorization"),
        ({"token": "abc"}, "token"),
        ({"hf_token": "abc"}, "hf_token"),
        ({"provider": [{"x": 1}, {"clientSecret": "abc"}]}, "provider.1.clientSecret"),
        ({"user": "Bearer abcdefgh1"}, "user"),
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
