"""A key in the environment, and no proxy between a test and its server."""

from __future__ import annotations

import pytest

from tests.support.servers.faulty_server import KEY, shorten_pauses


@pytest.fixture(autouse=True)
def server_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    shorten_pauses(monkeypatch)
