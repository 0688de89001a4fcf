"""Many requests to a server that fails three times in ten: nothing lost, nothing twice, none wrong."""

from __future__ import annotations

import pytest

from gatt.generation.base import Generation
from tests.support.servers.faulty_server import (
    ENDS,
    PARAMS,
    FaultyServer,
    engine_for,
    request,
    right,
    seeded_script,
    shorten_pauses,
)

pytestmark = pytest.mark.integration

NUM_REQUESTS = 2500
WEIGHTS = {
    **dict.fromkeys(["429", "500", "502", "503", "reset", "truncated", "invalid"], 3.0),
    **dict.fromkeys(["no choices", *ENDS], 3.0),
    **dict.fromkeys(["429 date", "408"], 1.0),
    "429 seconds": 0.5,
    "hang": 0.1,
}
"""How often each fault comes, against the others; pauses and time-outs are waited for."""


def test_thousands_of_requests_with_thirty_per_cent_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_pauses(monkeypatch)
    asked = [request(f"d{n // 10}", f"d{n // 10}", turns=n % 10 + 1) for n in range(NUM_REQUESTS)]
    with FaultyServer(seeded_script(1, 0.3, WEIGHTS), retry_after=0.02) as server:
        # Only a hanging answer runs into the time-out, on a busy machine too.
        engine = engine_for(server, max_concurrency=48, timeout_seconds=15.0, max_retries=20)
        targets: dict[str, Generation] = {}
        left = asked
        num_ended = 0
        while left:
            replies = dict(zip(left, engine.generate(left, PARAMS), strict=True))
            left = [one for one, reply in replies.items() if reply.finish != "stop"]
            assert {replies[one].finish for one in left} <= set(ENDS.values())
            num_ended += len(left)
            targets |= {one.key: reply for one, reply in replies.items() if one not in left}
    assert targets == {one.key: right(one) for one in asked}
    # Nothing was asked for again but after a fault, and every kind of fault was there.
    assert server.faults["ok"] == NUM_REQUESTS == len(targets)
    assert num_ended == sum(server.faults[end] for end in ENDS)
    assert set(server.faults) == {"ok", *WEIGHTS}
    assert 0.27 < 1 - NUM_REQUESTS / len(server.asked) < 0.33
