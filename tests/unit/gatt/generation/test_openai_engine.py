"""The engine for servers against a real HTTP server that misbehaves on purpose."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from gatt.dialogue import Message
from gatt.errors import GenerationError, ModelError
from gatt.generation.base import (
    Generation,
    GenerationRequest,
    SamplingParams,
    can_prefill,
    stream_seed,
)
from gatt.generation.openai import OpenAIEngine
from gatt.generation.scripted import ScriptedEngine
from gatt.generation.servers.config import ServerConfig
from tests.support.faulty_server import (
    BROKEN,
    MODEL,
    STATUSES,
    WRONG,
    Answer,
    Asked,
    FaultyServer,
    right_reply,
)

KEY = "tok-4f1c9a77e0b3"
PARAMS = SamplingParams(max_new_tokens=16, temperature=0.7, top_p=0.9, seed=3)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def settings(*urls: str, **changes: Any) -> ServerConfig:
    """Return settings with pauses that a test can wait for."""
    quick = {
        "urls": urls,
        "backoff_seconds": 0.01,
        "max_wait_seconds": 0.5,
        "timeout_seconds": 5.0,
        "patience_seconds": 0.5,
        "max_concurrency": 8,
    }
    return ServerConfig(**{**quick, **changes})


def engine_for(*servers: FaultyServer, **changes: Any) -> OpenAIEngine:
    return OpenAIEngine(MODEL, settings(*(s.url for s in servers), **changes))


def request(name: str, group: str = "", prefill: str = "", turns: int = 1) -> GenerationRequest:
    messages = [Message("user", f"{name}, message 1")]
    for turn in range(2, turns + 1):
        messages += [Message("assistant", "Yes."), Message("user", f"{name}, message {turn}")]
    return GenerationRequest(f"{name}/{turns}", tuple(messages), group, prefill)


def right(asked: GenerationRequest) -> Generation:
    return Generation(right_reply([m.as_dict() for m in asked.messages]), "stop", 7)


def first(fault: str | Answer, times: int = 1) -> Callable[[Asked], str | Answer]:
    """Return a script that answers every prompt so the first times, and then rightly."""
    return lambda asked: fault if asked.nth < times else "ok"


def always(answer: str | Answer) -> Callable[[Asked], str | Answer]:
    return lambda asked: answer


def error(status: int, message: str, code: str = "", **headers: str) -> Answer:
    return Answer(status, {"error": {"message": message, "code": code}}, headers)


# What every request says


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


# Faults that heal


@pytest.mark.parametrize("fault", [f for f in (*STATUSES, *BROKEN) if f != "hang"])
def test_every_fault_is_tried_again_and_never_a_reply(fault: str) -> None:
    asked = [request("a"), request("b")]
    with FaultyServer(first(fault)) as server:
        engine = engine_for(server)
        assert engine.generate(asked, PARAMS) == [right(r) for r in asked]
    assert server.faults == {fault: 2, "ok": 2}
    assert sum(engine.faults.values()) == 2


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
    with FaultyServer(first("429 seconds"), retry_after=0.4) as server:
        engine = engine_for(server, max_concurrency=2, max_wait_seconds=1.0)
        asked = [request(str(n)) for n in range(4)]
        assert engine.generate(asked, PARAMS) == [right(r) for r in asked]
    refused_at = server.asked[0].at
    early = [a.at - refused_at for a in server.asked if 0.1 < a.at - refused_at < 0.35]
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


# Servers that are gone


def closed_url() -> str:
    server = FaultyServer()
    with server:
        pass
    return server.url


@pytest.mark.parametrize("check_model", [True, False])
def test_a_dead_server_gives_one_clear_line_at_once(check_model: bool) -> None:
    url = closed_url()
    engine = OpenAIEngine(MODEL, settings(url, check_model=check_model, patience_seconds=60))
    began = time.monotonic()
    with pytest.raises(GenerationError) as caught:
        engine.generate([request(str(n)) for n in range(20)], PARAMS)
    assert time.monotonic() - began < 2
    said = str(caught.value)
    assert said.startswith(f"{url}: no connection, or a broken one (")
    assert said.endswith(
        "): no answer (0 of 20 replies of this call were had): start the server or mend "
        "server.urls, then run again: it goes on where it stopped"
    )
    assert "\n" not in said


def test_a_server_that_dies_says_how_far_it_came() -> None:
    with FaultyServer(lambda asked: "die" if len(server.asked) > 30 else "ok") as server:
        engine = engine_for(server, patience_seconds=0.2)
        with pytest.raises(GenerationError) as caught:
            engine.generate([request(str(n)) for n in range(60)], PARAMS)
    assert f"{server.url}: no connection" in str(caught.value)
    num = engine.counters.num_replies
    assert 15 < num <= 30
    assert f"no reply for 0 s ({num} of 60 replies of this call were had): look at" in str(
        caught.value
    )


def test_a_server_that_comes_back_is_used_again(caplog: pytest.LogCaptureFixture) -> None:
    asked = [request(str(n)) for n in range(20)]
    with FaultyServer(lambda a: "502" if len(server.asked) < 15 else "ok") as server:
        engine = engine_for(server, patience_seconds=20)
        assert engine.generate(asked, PARAMS) == [right(r) for r in asked]
    assert [r.message for r in caplog.records if r.name.endswith("endpoint")] == [
        f"{server.url}: status 502 (scripted 502): no further requests but single tries",
        f"{server.url}: answers again",
    ]


def test_a_request_that_fails_again_and_again_ends_the_run() -> None:
    def script(asked: Asked) -> str:
        return "500" if "bad" in asked.prompt else "ok"

    asked = [request("bad"), *(request(str(n)) for n in range(60))]
    with FaultyServer(script, seconds=0.01) as server:
        engine = engine_for(server, max_retries=2, max_concurrency=2)
        with pytest.raises(
            GenerationError,
            match=r"/v1: request 'bad/1' failed 3 times, the last time: status 500 \(scripted 500\) "
            r"\(\d+ of 61 replies of this call were had\): look at the server's log or raise",
        ):
            engine.generate(asked, PARAMS)


@pytest.mark.parametrize(
    ("fault", "advice"),
    [("hang", "raise server.timeout_seconds"), ("wrong model", "or set server.answers_as")],
)
def test_the_way_out_of_a_last_fault_fits_it(fault: str, advice: str) -> None:
    def script(asked: Asked) -> str:
        return fault if "bad" in asked.prompt else "ok"

    with FaultyServer(script) as server:
        engine = engine_for(server, max_retries=1, timeout_seconds=0.2)
        engine.generate([request("good")], PARAMS)
        with pytest.raises(GenerationError, match=f"request 'bad/1' failed 2 times.*{advice}"):
            engine.generate([request("bad")], PARAMS)


# Refusals


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            error(401, "no such key"),
            "status 401: no such key: put a key .* variable OPENAI_API_KEY",
        ),
        (error(403, "not yours"), "status 403: not yours: put a key that may use 'teacher'"),
        (error(404, "no model"), r"status 404: no model: name a model .*'teacher'.* end in /v1"),
        (Answer(422, {"detail": "Unexpected fields: {'seed'}"}), "status 422: Unexpected fields"),
        (
            Answer(400, {"detail": [{"loc": "n"}]}),
            r'status 400: {"detail": \[{"loc": "n"}\]}: change what',
        ),
        (Answer(400, b"<p>no</p>"), "status 400: <p>no</p>: change what"),
        (
            error(400, "'max_tokens' is not supported: use 'max_completion_tokens'"),
            "status 400: .*: set server.max_tokens_field to max_completion_tokens",
        ),
        (error(429, "pay", "insufficient_quota"), "status 429: pay: the quota is used up"),
        (error(501, "never"), "status 501: never"),
    ],
)
def test_what_will_not_heal_ends_at_once(answer: Answer, message: str) -> None:
    with FaultyServer(always(answer)) as server:
        with pytest.raises(GenerationError, match=f"^{server.url}: {message}"):
            engine_for(server, max_concurrency=1).generate([request("a"), request("b")], PARAMS)
        assert len(server.asked) == 1


def test_a_model_that_the_server_does_not_list_is_refused_before_the_first_request() -> None:
    with FaultyServer(models=("teachers", "other")) as server:
        with pytest.raises(
            GenerationError,
            match=r"serves no model 'teacher' \(it lists 'other', 'teachers'\), did you mean "
            r"'teachers'\?: name a model that it serves, or set server.check_model to false",
        ):
            engine_for(server).generate([request("a")], PARAMS)
        assert not server.asked
        engine_for(server, check_model=False).generate([request("a")], PARAMS)


@pytest.mark.parametrize("models", [None, ()])
def test_servers_without_a_list_are_asked_all_the_same(models: tuple[str, ...] | None) -> None:
    with FaultyServer(models=models) as server:
        assert engine_for(server).generate([request("a")], PARAMS) == [right(request("a"))]


def test_a_server_that_always_answers_as_another_model_is_refused() -> None:
    with FaultyServer(answers_as="llama") as server:
        with pytest.raises(
            GenerationError,
            match=r"the reply is model 'llama''s, not 'teacher''s, every time: name the model",
        ):
            engine_for(server).generate([request(str(n)) for n in range(9)], PARAMS)
        engine_for(server, answers_as="llama").generate([request("a")], PARAMS)


# Keys


@pytest.mark.parametrize("status", [401, 500])
@pytest.mark.parametrize("form", ["Bearer {}", "{}", "key={}; again {}"])
def test_a_key_that_the_server_echoes_is_shown_nowhere(
    status: int, form: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    def echo(asked: Asked) -> Answer:
        sent = asked.headers["authorization"].removeprefix("Bearer ")
        return error(status, f"cannot take {form.format(sent, sent)}")

    with FaultyServer(echo) as server:
        engine = engine_for(server, max_retries=1)
        with pytest.raises(GenerationError, match=r"cannot take .*\[key\]") as caught:
            engine.generate([request("a")], PARAMS)
    shown = [
        *traceback.format_exception(caught.value),
        repr(engine),
        repr(vars(engine)),
        caplog.text,
    ]
    assert KEY not in "".join(shown)


# Several endpoints


def test_a_group_stays_with_one_endpoint_shortest_prompt_first() -> None:
    asked = [request(f"d{n}", f"d{n}", turns=t) for n in range(8) for t in (3, 1, 2)]
    with FaultyServer(seconds=0.01) as one, FaultyServer(seconds=0.01) as two:
        engine = engine_for(one, two, max_concurrency=2)
        assert engine.generate(asked, PARAMS) == [right(r) for r in asked]
        seen = [[a.body["messages"][0]["content"] for a in s.asked] for s in (one, two)]
        assert not set(seen[0]) & set(seen[1])
        assert min(map(len, seen)) >= 6
        for server in (one, two):
            turns = [len(a.body["messages"]) for a in server.asked]
            assert turns == [1, 3, 5] * (len(turns) // 3)
        engine.generate([request(f"d{n}", f"d{n}", turns=4) for n in range(8)], PARAMS)
    later = [{a.body["messages"][0]["content"] for a in s.asked} for s in (one, two)]
    assert later == [set(s) for s in seen]


def test_what_a_dead_endpoint_had_goes_to_the_other() -> None:
    asked = [request(f"d{n}", f"d{n % 7}") for n in range(80)]
    with (
        FaultyServer(lambda a: "die" if len(one.asked) > 5 else "ok") as one,
        FaultyServer() as two,
    ):
        engine = engine_for(one, two, patience_seconds=20)
        assert engine.generate(asked, PARAMS) == [right(r) for r in asked]
        more = [request(f"e{n}", f"d{n % 7}") for n in range(20)]
        assert engine.generate(more, PARAMS) == [right(r) for r in more]
    assert len(two.asked) > 80


# Callers


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


def test_ctrl_c_ends_the_call_and_leaves_the_engine_usable() -> None:
    with FaultyServer(lambda a: "hang" if a.nth == 0 else "ok") as server:
        engine = engine_for(server, timeout_seconds=20.0)
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            engine.generate([request("a"), request("b")], PARAMS)
        assert time.monotonic() - began < 3
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
