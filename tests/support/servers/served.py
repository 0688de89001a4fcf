"""Engines, requests and scripts for tests against the faulty server."""

from __future__ import annotations

from typing import Any

import pytest

from gatt.data.dialogue import Message
from gatt.generation.base import Generation, GenerationRequest, SamplingParams
from gatt.generation.servers import engine
from gatt.generation.servers.config import ServerConfig
from gatt.generation.servers.engine import OpenAIEngine
from tests.support.servers.faulty_server import MODEL, Answer, FaultyServer, Script, right_reply

KEY = "tok-4f1c9a77e0b3"
PARAMS = SamplingParams(max_new_tokens=16, temperature=0.7, top_p=0.9, seed=3)


def settings(*urls: str, **changes: Any) -> ServerConfig:
    """Return settings for a test."""
    return ServerConfig(**{"urls": urls, "timeout_seconds": 5.0, "max_concurrency": 8, **changes})


def shorten_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the pauses between two tries some that a test can wait for, and use no proxy."""
    monkeypatch.setattr(engine, "PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(engine, "LONGEST_PAUSE_SECONDS", 0.05)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def engine_for(*servers: FaultyServer, **changes: Any) -> OpenAIEngine:
    """Return an engine for the servers."""
    return OpenAIEngine(MODEL, settings(*(s.url for s in servers), **changes))


def request(name: str, group: str = "", prefill: str = "", turns: int = 1) -> GenerationRequest:
    """Return a request after some turns of a conversation of that name."""
    messages = [Message("user", f"{name}, message 1")]
    for turn in range(2, turns + 1):
        messages += [Message("assistant", "Yes."), Message("user", f"{name}, message {turn}")]
    return GenerationRequest(f"{name}/{turns}", tuple(messages), group, prefill)


def right(asked: GenerationRequest) -> Generation:
    """Return what a server that behaves makes of a request."""
    return Generation(right_reply([m.as_dict() for m in asked.messages]), "stop", 7)


def first(fault: str | Answer, times: int = 1) -> Script:
    """Return a script that answers every prompt so the first times, and then rightly."""
    return lambda asked: fault if asked.nth < times else "ok"


def always(answer: str | Answer) -> Script:
    """Return a script that answers everything so."""
    return lambda asked: answer


def error(status: int, message: str, code: str = "") -> Answer:
    """Return an error in OpenAI's form."""
    return Answer(status, {"error": {"message": message, "code": code}})
