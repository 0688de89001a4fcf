"""The engine for servers: what it asks, how it takes faults, who may call it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from gatt.errors import GenerationError, ModelError
from gatt.generation.base import Generation, can_prefill, context_tokens, stream_seed
from gatt.generation.scripted import ScriptedEngine
from gatt.generation.servers.engine import OpenAIEngine
from tests.support.servers.faulty_server import (
    BROKEN,
    MODEL,
    STATUSES,
    WRONG,
    Answer,
    Asked,
    FaultyServer,
    right_reply,
)
from tests.support.servers.served import (
    KEY,
    PARAMS,
    always,
    engine_for,
    error,
    first,
    request,
    right,
    settings,
)


def test_replies_come_in_order_with_what_the_server_was_asked() -> None:
    asked = [request("b"), request("a", turns=2), request("c")]
    with FaultyServer() as server:
        engine = engine_for(server, extra_body={"top_k": -1})
        seen: list[int] = []
        engine.on_progress = seen.append
        assert engine.generate(asked, PARAMS) == [right(r) for r in asked]
        assert engine.generate([], PARAMS) == []
        engine.close()
    assert (sum(seen), engine.counters.num_replies, engine.counters.num_sampled_tokens) == (
        3,
        3,
        21,
    )
    by_prompt = {len(a.body["messages"]): a for a in server.asked}
    body = by_prompt[3].body
    assert body["messages"][1] == {"role": "assistant", "content": "Yes."}
    assert body == {
        "model": MODEL,
        "messages": body["messages"],
        "max_tokens": 16,
        "temperature": 0.7,
        "top_p": 0.9,
        "seed": stream_seed(3, "a/2") % 2**31,
        "top_k": -1,
    }
    assert by_prompt[3].headers["authorization"] == f"Bearer {KEY}"
    assert by_prompt[3].path == "/v1/chat/completions"


def test_the_length_limit_goes_by_the_name_that_the_server_knows() -> None:
    with FaultyServer() as server:
        engine_for(server, max_tokens_field="max_completion_tokens").generate(
            [request("a")], PARAMS
        )
    assert server.asked[0].body["max_completion_tokens"] == 16
    assert "max_tokens" not in server.asked[0].body


def test_a_beginning_is_given_to_servers_that_go_on_with_it() -> None:
    with FaultyServer() as server:
        engine = engine_for(server, can_prefill=True)
        (reply,) = engine.generate([request("a", prefill="I row, ")], PARAMS)
        with pytest.raises(
            GenerationError, match=r"request 'a/1' gives the beginning .*can_prefill"
        ):
            engine_for(server).generate([request("a", prefill="I row")], PARAMS)
    body = server.asked[0].body
    assert body["messages"][-1] == {"role": "assistant", "content": "I row, "}
    assert (body["continue_final_message"], body["add_generation_prompt"]) == (True, False)
    assert reply.text == f"I row, {right_reply(body['messages'])}"
    assert can_prefill(engine)
    assert not can_prefill(engine_for(server))
    assert can_prefill(ScriptedEngine(lambda r: "x"))


def test_an_adapter_is_another_served_model() -> None:
    with FaultyServer(models=(MODEL, "lora-7")) as server:
        engine = OpenAIEngine(MODEL, settings(server.url), adapters={"gatt": "lora-7"})
        engine.generate([request("a")], PARAMS, "gatt")
        engine.generate([request("a")], PARAMS)
        with pytest.raises(ModelError, match=r"no adapter 'x' is served \(known: gatt\)"):
            engine.generate([request("a")], PARAMS, "x")
    assert [a.body["model"] for a in server.asked] == ["lora-7", MODEL]


@pytest.mark.parametrize("fault", [f for f in (*STATUSES, *BROKEN) if f != "hang"])
def test_every_fault_is_tried_again_and_never_a_reply(fault: str) -> None:
    asked = [request("a"), request("b")]
    with FaultyServer(first(fault)) as server:
        engine = engine_for(server)
        assert engine.generate(asked, PARAMS) == [right(r) for r in asked]
    assert server.faults == {fault: 2, "ok": 2}
    assert sum(engine.faults.values()) == 2


NESTED = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize("status", [200, 500])
def test_an_answer_nested_without_end_is_a_fault_like_others(status: int) -> None:
    with FaultyServer(first(Answer(status, NESTED))) as server:
        server.listing = NESTED
        engine = engine_for(server)
        assert engine.generate([request("a")], PARAMS) == [right(request("a"))]
    assert engine.faults == {"reply" if status == 200 else "status": 1}


def test_what_a_server_says_of_its_context_is_kept() -> None:
    with FaultyServer(lambda a: long if "long" in a.prompt else "ok") as server:
        long = error(400, "This model's maximum context length is 512 tokens.")
        engine = engine_for(server)
        engine.generate([request("a")], PARAMS)
        assert context_tokens(engine) is None
        engine.generate([request("long")], PARAMS)
        assert context_tokens(engine) == 512


def test_a_server_that_hangs_is_asked_again_after_the_time_out() -> None:
    with FaultyServer(first("hang")) as server:
        engine = engine_for(server, timeout_seconds=0.3)
        assert engine.generate([request("a")], PARAMS) == [right(request("a"))]
    assert engine.faults == {"timeout": 1}


@pytest.mark.parametrize("end", ["length", "content_filter"])
def test_a_reply_that_was_ended_for_it_says_so(end: str) -> None:
    with FaultyServer(always(end)) as server:
        assert engine_for(server).generate([request("a")], PARAMS) == [Generation(WRONG, end, 7)]


@pytest.mark.parametrize(
    ("answer", "finish"),
    [
        (error(400, "This model's maximum context length is 512 tokens."), "context_limit"),
        (error(400, "filtered", "content_filter"), "content_filter"),
    ],
)
def test_a_prompt_that_cannot_be_answered_gets_an_empty_reply(answer: Answer, finish: str) -> None:
    with FaultyServer(always(answer)) as server:
        assert engine_for(server).generate([request("a")], PARAMS) == [Generation("", finish, 0)]


def test_no_request_comes_before_the_server_says_so() -> None:
    with FaultyServer(first("429 seconds"), retry_after=1.2) as server:
        engine = engine_for(server, max_concurrency=2, max_wait_seconds=2.0)
        asked = [request(str(n)) for n in range(4)]
        assert engine.generate(asked, PARAMS) == [right(r) for r in asked]
    refused_at = server.asked[0].at
    # What was under way when the server said so may come a little later on a busy machine.
    early = [a.at - refused_at for a in server.asked if 0.6 < a.at - refused_at < 1.15]
    assert not early


def test_concurrency_is_bounded_and_shrinks_where_it_is_too_much() -> None:
    with FaultyServer(seconds=0.01) as server:
        engine_for(server, max_concurrency=5).generate([request(str(n)) for n in range(40)], PARAMS)
        assert server.most_in_flight <= 5

    with FaultyServer(seconds=0.01) as server:
        server.script = lambda asked: "429" if server.num_in_flight > 4 else "ok"
        asked = [request(str(n)) for n in range(150)]
        replies = engine_for(server, max_concurrency=32).generate(asked, PARAMS)
    assert replies == [right(r) for r in asked]
    assert server.faults["429"] < 120


def test_callers_in_threads_and_in_event_loops_are_served() -> None:
    found: list[Any] = []
    with FaultyServer(seconds=0.01) as server:
        engine = engine_for(server)

        async def inside() -> None:
            found.extend(engine.generate([request("loop")], PARAMS))

        threads = [
            threading.Thread(target=lambda n=n: found.extend(engine.generate([request(n)], PARAMS)))
            for n in ("one", "two")
        ]
        for thread in threads:
            thread.start()
        asyncio.run(inside())
        for thread in threads:
            thread.join()
    expected = [right(request(n)).text for n in ("loop", "one", "two")]
    assert sorted(g.text for g in found) == sorted(expected)


@pytest.fixture
def _interruptible() -> Iterator[None]:
    """Tests in the background of a shell inherit a SIGINT that is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
def test_ctrl_c_ends_the_call_and_leaves_the_engine_usable() -> None:
    def script(asked: Asked) -> str:
        if len(server.asked) == 2 and asked is server.asked[1]:
            os.kill(os.getpid(), signal.SIGINT)
        return "hang" if asked.nth == 0 else "ok"

    with FaultyServer(script) as server:
        engine = engine_for(server, timeout_seconds=20.0)
        with pytest.raises(KeyboardInterrupt):
            engine.generate([request("a"), request("b")], PARAMS)
        # Neither request was waited for until it came to an outcome.
        assert not engine.faults
        assert engine.generate([request("a")], PARAMS) == [right(request("a"))]
        engine.close()
        engine.close()
    assert all(e.num_in_flight == 0 for e in engine._clients)


def test_a_broken_caller_is_not_mistaken_for_a_fault() -> None:
    def broken(num: int) -> None:
        raise ZeroDivisionError

    with FaultyServer() as server:
        engine = engine_for(server)
        engine.on_progress = broken
        with pytest.raises(ZeroDivisionError):
            engine.generate([request("a"), request("b")], PARAMS)
    assert json.loads(server.asked[0].prompt)
