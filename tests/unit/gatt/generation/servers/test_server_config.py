"""Settings of servers, and what of an engine's settings decides the replies."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from gatt.config.load import load_config, to_yaml
from gatt.errors import ConfigError, ModelError
from gatt.generation.config import EngineConfig, make_engine
from gatt.generation.servers.config import ServerConfig
from gatt.generation.servers.engine import OpenAIEngine
from tests.support.runs.stages import write_model

URL = "http://host:8000/v1"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"urls": ()}, "urls is empty: expected at least one"),
        ({"urls": (URL, URL + "/")}, "urls names an endpoint twice"),
        ({"urls": ("host:8000/v1",)}, "urls: 'host:8000/v1' is no URL: expected one such as"),
        ({"urls": ("http:///v1",)}, "is no URL"),
        ({"urls": ("http://me:hunter2@host/v1",)}, "one for host 'host' holds a user, query"),
        ({"urls": (URL + "?key=hunter2",)}, "one for host 'host' holds a user, query"),
        ({"api_key_env": "sk-hunter2"}, "api_key_env is no name .* never the key itself"),
        ({"api_key_env": "gsk_hunter2"}, "api_key_env is no name .* never the key itself"),
        ({"extra_body": {"api_key": "hunter2"}}, "extra_body holds a key or password at 'api_key'"),
        (
            {"extra_body": {"headers": {"Authorization": "Bearer hunter2hunter2"}}},
            "at 'headers.Authorization', and settings are written to files: expected it in the env",
        ),
        ({"max_concurrency": 0}, "max_concurrency is 0: expected 1 to 1000"),
        ({"max_concurrency": 1001}, "max_concurrency is 1001: expected 1 to 1000"),
        ({"max_retries": -1}, "max_retries is -1: expected 0 or more"),
        ({"max_unanswered": -1}, "max_unanswered is -1: expected 0 or more"),
        ({"timeout_seconds": 0.0}, "timeout_seconds is 0.0: expected more than 0"),
        ({"backoff_seconds": -1.0}, "backoff_seconds is -1.0: expected more than 0"),
        ({"max_wait_seconds": 0.0}, "max_wait_seconds is 0.0: expected more than 0"),
        ({"patience_seconds": float("nan")}, "patience_seconds is nan: expected more than 0"),
        ({"extra_body": {"seed": 1}}, "extra_body holds 'seed': that is set from other settings"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        ServerConfig(**{"urls": (URL,), **settings})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    ["api_key_env: gsk_hunter2", "extra_body: {token: hunter2}", "api_key: hunter2"],
)
def test_a_key_in_a_file_is_refused_without_showing_it(tmp_path, settings: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(f"server: {{urls: [http://one/v1], {settings}}}", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"c.yaml line 1: .*api_key_env") as caught:
        load_config(EngineConfig, path)
    with pytest.raises(ConfigError, match="api_key_env is no name") as override:
        load_config(EngineConfig, None, [f"server.urls=[{URL}]", "server.api_key_env=gsk_hunter2"])
    assert "hunter2" not in f"{caught.value}{override.value}"


def test_a_key_that_is_named_and_missing_is_refused_and_an_unnamed_one_is_not(monkeypatch) -> None:
    for name in ("OPENAI_API_KEY", "GROQ_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    make_engine(EngineConfig(model="t", server=ServerConfig(urls=(URL,))))
    for name in ("OPENAI_API_KEY", "GROQ_API_KEY"):
        server = ServerConfig(urls=(URL,), api_key_env=name)
        with pytest.raises(ConfigError, match=f"environment variable {name}, which .* is not set"):
            make_engine(EngineConfig(model="t", server=server))
    monkeypatch.setenv("GROQ_API_KEY", "abc")
    make_engine(EngineConfig(model="t", server=server))


def test_a_server_is_configured_in_yaml_and_by_overrides(tmp_path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        "model: teacher\n"
        "server: {urls: [http://one/v1], extra_body: {chat_template_kwargs: {enable_thinking: false}}}",
        encoding="utf-8",
    )
    config = load_config(EngineConfig, path, ["server.max_concurrency=64"])
    assert config.server == ServerConfig(
        urls=("http://one/v1",),
        max_concurrency=64,
        extra_body={"chat_template_kwargs": {"enable_thinking": False}},
    )
    path.write_text(to_yaml(config), encoding="utf-8")
    assert load_config(EngineConfig, path) == config


def test_the_engine_of_a_server_needs_no_weights() -> None:
    config = EngineConfig(model="teacher", server=ServerConfig(urls=(URL,)))
    engine = make_engine(config, {"teacher": "lora-7"})
    assert isinstance(engine, OpenAIEngine)
    assert engine.name == "teacher"
    assert (config.weights_digest(), config.adapter_digest("lora-7")) == ("", "")


def test_a_local_model_is_told_by_its_files(tmp_path) -> None:
    config = EngineConfig(model=str(write_model(tmp_path / "m")))
    assert len(config.weights_digest()) == 16
    with pytest.raises(ModelError, match="expected a folder saved by `gatt train`"):
        config.adapter_digest(tmp_path)


def test_what_decides_the_replies() -> None:
    assert (
        EngineConfig(max_rows=3, device="cpu").decisive()
        == EngineConfig().decisive()
        == {
            "model": "smollm2-135m-instruct",
            "dtype": "auto",
        }
    )
    server = ServerConfig(urls=(URL,), extra_body={"top_k": -1})
    found = EngineConfig(model="t", dtype="float32", server=server).decisive()
    assert found == {"model": "t", "server": {"can_prefill": False, "extra_body": {"top_k": -1}}}
    moved = ServerConfig(urls=("http://b/v1",), max_concurrency=2, extra_body={"top_k": -1})
    assert EngineConfig(model="t", server=moved).decisive() == found


def test_the_configuration_needs_neither_torch_nor_openai() -> None:
    said = subprocess.run(
        [sys.executable, "-c", "import sys, gatt.generation.config; "
         "print([m for m in ('openai', 'torch', 'httpx2') if m in sys.modules])"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert said.stdout.strip() == "[]"
