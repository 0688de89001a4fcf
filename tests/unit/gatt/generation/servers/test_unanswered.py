"""Prompts that break a server every time, and a run that may go on without them."""

from __future__ import annotations

import logging

import pytest

from gatt.errors import GenerationError
from gatt.generation.base import Generation
from tests.support.servers.faulty_server import Asked, FaultyServer
from tests.support.servers.served import PARAMS, always, engine_for, request, right

NOTHING = Generation("", "unanswered", 0)


def poison(fault: str, *names: str):
    """Return a script that some prompts break, and that answers all others."""

    def script(asked: Asked) -> str:
        return fault if any(f"{name}, message" in asked.prompt for name in names) else "ok"

    return script


@pytest.mark.parametrize("fault", ["500", "invalid", "no choices"])
def test_a_prompt_that_always_breaks_the_server_goes_without_a_reply(fault, caplog) -> None:
    asked = [request(str(n)) for n in range(12)]
    with FaultyServer(poison(fault, "3", "7")) as server, caplog.at_level(logging.WARNING):
        engine = engine_for(server, max_unanswered=2, max_retries=8, max_wait_seconds=0.02)
        replies = engine.generate(asked, PARAMS)
        # Further calls of a run share the number, and find the server as it is.
        assert engine.generate(asked[:3], PARAMS) == [right(r) for r in asked[:3]]
        with pytest.raises(GenerationError, match=r"'3/1' failed|no reply for"):
            engine.generate([asked[3]], PARAMS)
    assert replies == [NOTHING if n in (3, 7) else right(r) for n, r in enumerate(asked)]
    # Nine tries each: the first and max_retries.
    assert sum(server.script(a) != "ok" for a in server.asked) >= 18
    told = [r.getMessage() for r in caplog.records if "goes without a reply" in r.getMessage()]
    assert len(told) == 2
    assert "after 9 tries (1 of server.max_unanswered=2), the last time: " in told[0]


def test_without_leave_the_run_stops_and_names_the_setting() -> None:
    with FaultyServer(poison("500", "a")) as server:
        engine = engine_for(server, max_retries=2)
        with pytest.raises(GenerationError, match=r"or let such requests go with server\.max_un"):
            engine.generate([request("a"), request("b")], PARAMS)


def test_one_more_than_may_go_stops_the_run() -> None:
    with FaultyServer(poison("500", "a", "b", "c")) as server:
        engine = engine_for(server, max_retries=1, max_unanswered=2, patience_seconds=0.1)
        with pytest.raises(GenerationError):
            engine.generate([request(name) for name in "abcdefgh"], PARAMS)


@pytest.mark.parametrize("num_answered", [0, 4])
def test_a_server_that_breaks_for_good_stops_the_run(num_answered: int) -> None:
    """Few prompts are left, and all of them may go without a reply; yet it is not the prompts."""
    with FaultyServer(lambda asked: "ok" if len(server.asked) <= num_answered else "500") as server:
        engine = engine_for(
            server, max_unanswered=20, max_retries=3, patience_seconds=0.2, max_concurrency=1,
            max_wait_seconds=0.05,
        )  # fmt: skip
        with pytest.raises(GenerationError):
            engine.generate([request(str(n)) for n in range(10)], PARAMS)
        with pytest.raises(GenerationError):
            engine.generate([request("last")], PARAMS)
    assert not engine._dispatcher.unanswered


def test_a_server_that_is_broken_for_a_while_answers_all_in_the_end() -> None:
    asked = [request(str(n)) for n in range(10)]
    with FaultyServer(lambda a: "500" if 3 < len(server.asked) < 40 else "ok") as server:
        engine = engine_for(
            server, max_unanswered=20, max_retries=2, patience_seconds=30, max_wait_seconds=0.02
        )
        assert engine.generate(asked, PARAMS) == [right(r) for r in asked]


@pytest.mark.parametrize("fault", ["reset", "hang", "wrong model"])
def test_a_server_that_is_gone_or_another_stops_the_run_as_ever(fault: str) -> None:
    with FaultyServer(always(fault)) as server:
        engine = engine_for(
            server, max_unanswered=20, max_retries=8, patience_seconds=0.2, timeout_seconds=0.1
        )
        with pytest.raises(GenerationError):
            engine.generate([request(str(n)) for n in range(10)], PARAMS)
