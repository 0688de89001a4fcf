"""Settings of servers, and what of an engine's settings decides the replies."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from gatt.config.load import load_config
from gatt.errors import ConfigError
from gatt.generation.config import EngineConfig, make_engine
from gatt.generation.servers.config import ServerConfig, read_key

URL = "http://host:8000/v1"


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"urls": ()}, ("urls",)),
        ({"urls": (URL, URL + "/")}, ("urls", "twice")),
        ({"urls": ("http://me:hunter2@host/v1",)}, ("urls", "'host'", "OPENAI_API_KEY")),
        ({"urls": (URL + "?key=hunter2",)}, ("urls", "'host'", "OPENAI_API_KEY")),
        ({"extra_body": {"api_key": "hunter2"}}, ("extra_body", "'api_key'", "OPENAI_API_KEY")),
        (
            {"extra_body": {"headers": {"Authorization": "Bearer hunter2hunter2"}}},
            ("extra_body", "'headers.Authorization'"),
        ),
        ({"extra_body": {"seed": 1}}, ("extra_body", "'seed'")),
        ({"max_retries": -1}, ("max_retries", "-1")),
        ({"timeout_seconds": float("nan")}, ("timeout_seconds", "nan")),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], facts) -> None:
    with pytest.raises(ConfigError) as caught:
        ServerConfig(**{"urls": (URL,), **settings})
    assert [fact for fact in facts if fact not in str(caught.value)] == []
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("value", [" abc\n", "", "two words", "ümlaut", "a\nb"])
def test_the_key_comes_from_the_environment(monkeypatch, value: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", value)
    if value.strip() in ("abc", ""):
        assert read_key() == value.strip()
        return
    served = EngineConfig(model="t", server=ServerConfig(urls=(URL,)))
    with pytest.raises(ConfigError, match="OPENAI_API_KEY") as caught:
        make_engine(served)
    assert value not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "fact"),
    [
        ("extra_body: {token: hunter2}", "OPENAI_API_KEY"),
        ("api_key: hunter2", r"'server\.api_key'"),
    ],
)
def test_a_key_in_a_file_is_refused_without_showing_it(tmp_path, settings: str, fact: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(f"server: {{urls: [http://one/v1], {settings}}}", encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"c.yaml line 1: .*{fact}") as caught:
        load_config(EngineConfig, path)
    assert "hunter2" not in str(caught.value)


def test_the_configuration_needs_neither_torch_nor_a_client() -> None:
    said = subprocess.run(
        [sys.executable, "-c", "import sys, gatt.generation.config; "
         "print([m for m in ('torch', 'httpx2') if m in sys.modules])"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert said.stdout.strip() == "[]"


def test_what_decides_the_replies() -> None:
    local = EngineConfig(max_rows=3, device="cpu").decisive()
    assert local == {"model": "smollm2-135m-instruct", "dtype": "auto"}
    server = ServerConfig(urls=(URL,), extra_body={"top_k": -1})
    config = EngineConfig(model="t", dtype="float32", server=server)
    assert config.decisive() == {
        "model": "t", "server": {"can_prefill": False, "extra_body": {"top_k": -1}},
    }  # fmt: skip
    moved = ServerConfig(urls=("http://b/v1",), max_concurrency=2, extra_body={"top_k": -1})
    assert EngineConfig(model="t", server=moved).decisive() == config.decisive()
    assert (config.weights_digest(), config.adapter_digest("lora-7")) == ("", "")
