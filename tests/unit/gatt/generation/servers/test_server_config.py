"""Settings of servers, and what of an engine's settings decides the replies."""

from __future__ import annotations

from typing import Any

import pytest

from gatt.config.load import load_config
from gatt.errors import ConfigError
from gatt.generation.config import EngineConfig, make_engine
from gatt.generation.servers.config import ServerConfig

URL = "http://host:8000/v1"


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"urls": ()}, ("urls",)),
        ({"urls": (URL, URL + "/")}, ("urls", "twice")),
        ({"urls": ("http://me:hunter2@host/v1",)}, ("urls", "'host'", "api_key_env")),
        ({"urls": (URL + "?key=hunter2",)}, ("urls", "'host'", "api_key_env")),
        ({"api_key_env": "sk-hunter2"}, ("api_key_env",)),
        ({"extra_body": {"api_key": "hunter2"}}, ("extra_body", "'api_key'", "api_key_env")),
        (
            {"extra_body": {"headers": {"Authorization": "Bearer hunter2hunter2"}}},
            ("extra_body", "'headers.Authorization'"),
        ),
        ({"extra_body": {"seed": 1}}, ("extra_body", "'seed'")),
        ({"max_retries": -1}, ("max_retries", "-1")),
        ({"timeout_seconds": float("nan")}, ("timeout_seconds", "nan")),
        ({"max_wait_seconds": 0}, ("max_wait_seconds", "0")),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], facts) -> None:
    with pytest.raises(ConfigError) as caught:
        ServerConfig(**{"urls": (URL,), **settings})
    assert [fact for fact in facts if fact not in str(caught.value)] == []
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["gsk_SECRET123", "AKIAIOSFODNN7EXAMPLE", "PROD_A1B2C3D4E5F60718", "$OPENAI_API_KEY",
     "OPENAI_API_KEY\n", ""],
)  # fmt: skip
def test_keys_are_no_names_of_variables(text: str) -> None:
    with pytest.raises(ConfigError, match="api_key_env"):
        ServerConfig(urls=(URL,), api_key_env=text)
    for name in ("OPENAI_API_KEY", "TEAM42_KEY_2026", "INTERNATIONALIZATION_KEY"):
        assert ServerConfig(urls=(URL,), api_key_env=name).api_key_env == name


@pytest.mark.parametrize(
    ("value", "named", "expected"),
    [
        (" abc\n", "SOME_KEY", "abc"),
        (None, None, ""),
        (None, "SOME_KEY", ConfigError),
        ("two words", "SOME_KEY", ConfigError),
        ("ümlaut", "SOME_KEY", ConfigError),
        ("a\nb", "SOME_KEY", ConfigError),
    ],
)
def test_the_key_comes_from_the_environment(monkeypatch, value, named, expected) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    if value is not None:
        monkeypatch.setenv("SOME_KEY", value)
    config = ServerConfig(urls=(URL,), api_key_env=named)
    if isinstance(expected, str):
        assert config.read_key() == expected
        return
    for read in (config.read_key, lambda: make_engine(EngineConfig(model="t", server=config))):
        with pytest.raises(ConfigError, match="SOME_KEY") as caught:
            read()
        assert not value or not value.strip() or value not in str(caught.value)


@pytest.mark.parametrize(
    "settings", ["api_key_env: gsk_hunter2", "extra_body: {token: hunter2}", "api_key: hunter2"]
)
def test_a_key_in_a_file_is_refused_without_showing_it(tmp_path, settings: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(f"server: {{urls: [http://one/v1], {settings}}}", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"c.yaml line 1: .*api_key_env") as caught:
        load_config(EngineConfig, path)
    assert "hunter2" not in str(caught.value)


def test_what_decides_the_replies() -> None:
    local = EngineConfig(max_rows=3, device="cpu").decisive()
    assert local == {"model": "smollm2-135m-instruct", "dtype": "auto"}
    server = ServerConfig(urls=(URL,), extra_body={"top_k": -1})
    config = EngineConfig(model="t", dtype="float32", server=server)
    assert config.decisive() == {
        "model": "t", "server": {"can_prefill": False, "extra_body": {"top_k": -1}},
    }  # fmt: skip
    changed = ServerConfig(urls=(URL,), omit=("top_p", "seed"), stop_reasons=("eos",))
    assert changed.decisive() == {
        "can_prefill": False, "extra_body": {}, "omit": ["seed", "top_p"], "stop_reasons": ["eos"],
    }  # fmt: skip
    moved = ServerConfig(urls=("http://b/v1",), max_concurrency=2, extra_body={"top_k": -1})
    assert EngineConfig(model="t", server=moved).decisive() == config.decisive()
    assert (config.weights_digest(), config.adapter_digest("lora-7")) == ("", "")
