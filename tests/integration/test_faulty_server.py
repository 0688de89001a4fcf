"""Many requests to a server that fails three times in ten: nothing lost, nothing twice, none wrong."""

from __future__ import annotations

import pytest

from gatt.data.dialogue import Message
from gatt.generation.base import GenerationRequest, SamplingParams
from gatt.generation.servers import engine as engine_module
from gatt.generation.servers.config import ServerConfig
from gatt.generation.servers.engine import OpenAIEngine
from tests.support.servers.faulty_server import MODEL, FaultyServer, right_reply, seeded_script

pytestmark = pytest.mark.integration

NUM_REQUESTS = 5000
WEIGHTS = {
    **dict.fromkeys(["429", "500", "502", "503", "reset", "truncated", "invalid"], 3.0),
    **dict.fromkeys(["no choices", "no content", "length", "content_filter"], 3.0),
    **dict.fromkeys(["429 date", "408"], 1.0),
    "429 seconds": 0.5,
    "hang": 0.1,
}
"""How often each fault comes, against the others; pauses and time-outs are waited for."""


def request(number: int) -> GenerationRequest:
    """Return one of ten turns of a dialogue."""
    name, turns = f"d{number // 10}", number % 10 + 1
    messages = [Message("user", f"{name}, message 1")]
    for turn in range(2, turns + 1):
        messages += [Message("assistant", "Yes."), Message("user", f"{name}, message {turn}")]
    return GenerationRequest(f"{name}/{turns}", tuple(messages), name)


def test_five_thousand_requests_with_thirty_per_cent_faults(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(engine_module, "PAUSE_SECONDS", 0.01)
    asked = [request(n) for n in range(NUM_REQUESTS)]
    with FaultyServer(seeded_script(1, 0.3, WEIGHTS), retry_after=0.02) as server:
        config = ServerConfig(
            urls=(server.url,),
            max_concurrency=48,
            timeout_seconds=15.0,  # Only a hanging answer runs into it, on a busy machine too.
            max_retries=20,
        )
        engine = OpenAIEngine(MODEL, config)
        targets: dict[int, str] = {}
        left = list(range(NUM_REQUESTS))
        num_ended = 0
        while left:
            replies = engine.generate([asked[n] for n in left], SamplingParams())
            again = []
            for n, reply in zip(left, replies, strict=True):
                if reply.finish == "stop":
                    assert n not in targets
                    targets[n] = reply.text
                else:
                    assert reply.finish in ("length", "content_filter")
                    again.append(n)
            num_ended += len(again)
            left = again
    expected = [right_reply([m.as_dict() for m in r.messages]) for r in asked]
    assert [targets[n] for n in range(NUM_REQUESTS)] == expected
    # Nothing was asked for again but after a fault, and every kind of fault was there.
    assert server.faults["ok"] == NUM_REQUESTS
    assert num_ended == server.faults["length"] + server.faults["content_filter"]
    assert set(server.faults) == {"ok", *WEIGHTS}
    assert 0.27 < 1 - NUM_REQUESTS / len(server.asked) < 0.33
