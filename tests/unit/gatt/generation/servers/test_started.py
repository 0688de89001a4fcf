"""Servers that a run starts itself."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from gatt.data.dialogue import Message
from gatt.errors import ConfigError, GenerationError
from gatt.generation.base import GenerationRequest, SamplingParams
from gatt.generation.config import EngineConfig, make_engine
from gatt.generation.servers.config import ServerConfig
from gatt.generation.servers.started import COMMANDS, Wanted, _command, gpu_groups, start_servers
from tests.support.models.tiny import save_tiny_model

SERVER = """
import http.server, json, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_GET(self): self.send({"data": []})
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = f"{asked['model']} {os.environ.get('CUDA_VISIBLE_DEVICES')}"
        self.send({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})
    def send(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
REQUEST = GenerationRequest("a", (Message("user", "Hello"),))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny_model(tmp_path_factory.mktemp("model")))


@pytest.fixture
def config(tmp_path: Path) -> ServerConfig:
    script = tmp_path / "server.py"
    script.write_text(SERVER, encoding="utf-8")
    return ServerConfig(
        start=f"{{python}} {script} {{port}}", python=sys.executable, start_words=("--more",),
        start_seconds=120,
    )  # fmt: skip


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_engine_owns_its_server(model: str, config: ServerConfig) -> None:
    engine = make_engine(EngineConfig(model=model, server=config))
    [server] = engine._servers._end.peek()[2][0]
    [found] = engine.generate([REQUEST], SamplingParams())
    assert found.text == f"{model} None"
    assert is_alive(server.process.pid)
    del engine
    assert not is_alive(server.process.pid)


def test_a_server_that_cannot_list_its_models_is_ready_when_it_is_well(
    model: str, tmp_path: Path, config: ServerConfig
) -> None:
    # As `transformers serve` where the hub's cache does not exist.
    ill = "self.send({}) if self.path == '/health' else self.send_error(500)"
    changed = SERVER.replace('self.send({"data": []})', ill)
    (tmp_path / "server.py").write_text(changed, encoding="utf-8")
    start_servers(config, model, {}).stop()


def test_with_gpus_there_is_a_server_a_group(model, config, monkeypatch) -> None:
    monkeypatch.setattr(
        "gatt.generation.servers.started.gpu_groups", lambda _: (2, [(0, 1), (2, 3)])
    )
    servers = start_servers(config, model, {})
    try:
        asked = [
            make_engine(EngineConfig(model=model, server=ServerConfig(urls=(url,)))).generate(
                [REQUEST], SamplingParams()
            )
            for url in servers.config.urls
        ]
        assert [found.text for [found] in asked] == [f"{model} 0,1", f"{model} 2,3"]
    finally:
        servers.stop()


@pytest.mark.parametrize(
    ("code", "fact"),
    [
        ("print('no such option: --fast'); raise SystemExit(3)", "no such option: --fast"),
        ("import time; time.sleep(600)", "no answer"),
    ],
)
def test_a_server_that_does_not_answer(model, tmp_path, config, code, fact) -> None:
    (tmp_path / "server.py").write_text(code, encoding="utf-8")
    with pytest.raises(GenerationError, match=fact):
        start_servers(replace(config, start_seconds=1 if "sleep" in code else 60), model, {})


@pytest.mark.parametrize(
    ("num", "memory", "expected"),
    [
        (0, 80e9, (1, [()])),
        (1, 80e9, (1, [(0,)])),
        (4, 80e9, (1, [(0,), (1,), (2,), (3,)])),
        (4, 20e9, (2, [(0, 1), (2, 3)])),
        (3, 20e9, (2, [(0, 1)])),
        (4, 1e9, (4, [(0, 1, 2, 3)])),
    ],
)
def test_a_model_takes_as_many_gpus_as_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, num: int, memory: float, expected: object
) -> None:
    with (tmp_path / "model.safetensors").open("wb") as stream:
        stream.truncate(16 * 10**9)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: num > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: num)
    properties = SimpleNamespace(total_memory=memory)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)
    assert gpu_groups(str(tmp_path)) == expected


def test_the_commands_have_room_for_the_adapters(tmp_path: Path) -> None:
    settings = {"peft_type": "LORA", "r": 24, "rank_pattern": {}}
    (tmp_path / "adapter_config.json").write_text(json.dumps(settings))
    wanted = Wanted(sys.executable, "/m", "m", {"gatt": str(tmp_path)}, 8000, 2)
    vllm = COMMANDS["vllm"](wanted)
    words = dict(pairwise(vllm))
    assert (words["--max-lora-rank"], words["--tensor-parallel-size"]) == ("32", "2")
    assert words["--lora-modules"] == f"gatt={tmp_path}"
    assert f"gatt={tmp_path}" in COMMANDS["sglang"](wanted)
    with pytest.raises(ConfigError, match="adapters"):
        COMMANDS["transformers"](wanted)
    assert "--enable-lora" not in COMMANDS["vllm"](replace(wanted, adapters={}))
    own = ServerConfig(start="""serve {model} --set '{"top_p": 1, "at": [{port}]}'""")
    assert _command(own, wanted) == ["serve", "/m", "--set", '{"top_p": 1, "at": [8000]}']


@pytest.mark.parametrize(
    ("settings", "fact"),
    [
        ({}, "urls is empty"),
        ({"start": "vllm", "urls": ("http://a:1/v1",)}, "both given"),
        ({"start": "vlm"}, "vllm"),
        ({"urls": ("http://a:1/v1",), "python": "p"}, "start"),
        ({"start": "vllm", "start_seconds": 0.0}, "start_seconds"),
    ],
)
def test_settings_that_contradict(settings: dict[str, object], fact: str) -> None:
    with pytest.raises(ConfigError, match=fact):
        ServerConfig(**settings)


def test_weights_are_known_where_the_server_is_ones_own(model: str) -> None:
    own = EngineConfig(model=model, server=ServerConfig(start="vllm"))
    other = EngineConfig(model=model, server=ServerConfig(urls=("http://a:1/v1",)))
    assert own.weights_digest() == EngineConfig(model=model).weights_digest() != ""
    assert other.weights_digest() == ""
    assert own.server.prefills
