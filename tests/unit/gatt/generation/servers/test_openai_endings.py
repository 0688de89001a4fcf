"""Where the engine for servers ends a run: one line, and no key in it."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import logging
import threading
import traceback

import pytest

from gatt.errors import GenerationError
from gatt.generation.servers.bounded import MOST_BYTES
from gatt.generation.servers.client import Client
from gatt.generation.servers.engine import OpenAIEngine
from tests.support.servers.faulty_server import MODEL, Answer, Asked, FaultyServer
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


def closed_url() -> str:
    server = FaultyServer()
    with server:
        pass
    return server.url


@pytest.mark.parametrize("check_model", [True, False])
def test_a_dead_server_gives_one_clear_line_at_once(check_model: bool) -> None:
    url = closed_url()
    # With that much patience it would never end.
    engine = OpenAIEngine(MODEL, settings(url, check_model=check_model, patience_seconds=1e9))
    with pytest.raises(GenerationError) as caught:
        engine.generate([request(str(n)) for n in range(20)], PARAMS)
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


def test_a_request_that_hangs_longer_than_patience_has_all_its_tries() -> None:
    """By default one time-out takes longer than patience."""
    with FaultyServer(first("hang", times=8)) as server:
        engine = engine_for(server, timeout_seconds=0.1, patience_seconds=0.05)
        assert engine.generate([request("a")], PARAMS) == [right(request("a"))]
    assert engine.faults == {"timeout": 8}


def test_a_server_that_only_ever_hangs_ends_the_run_after_all_tries() -> None:
    with FaultyServer(always("hang")) as server:
        engine = engine_for(
            server, timeout_seconds=0.1, patience_seconds=0.3, backoff_seconds=0.001
        )
        with pytest.raises(
            GenerationError,
            match=r"no reply within 0.1 s: no reply for \d s .*log or raise server.timeout_seconds, th",
        ):
            engine.generate([request("a")], PARAMS)
        # The first one and max_retries.
        assert len(server.asked) == 9


def test_patience_begins_with_the_first_fault_not_with_the_last_reply() -> None:
    def script(asked: Asked) -> str:
        return "ok" if asked.nth else "hang"

    asked = [request(str(n)) for n in range(12)]
    with FaultyServer(script) as server:
        # More at once than open the circuit and than there are retries.
        engine = engine_for(
            server, timeout_seconds=0.3, patience_seconds=0.25, max_retries=1, max_concurrency=12
        )
        assert engine.generate(asked, PARAMS) == [right(r) for r in asked]


def test_too_many_requests_are_waited_out_and_told(caplog: pytest.LogCaptureFixture) -> None:
    with FaultyServer(first("429", times=40)) as server:
        engine = engine_for(server, patience_seconds=0.1, max_wait_seconds=0.02, max_retries=1)
        assert engine.generate([request("a")], PARAMS) == [right(request("a"))]
    assert engine.faults == {"rate_limit": 40}
    told = [r.getMessage() for r in caplog.records if r.name.endswith("dispatch")]
    assert 1 <= len(told) <= 20
    assert all(t.endswith(" s, waiting on: status 429 (scripted 429)") for t in told)


def test_endpoints_that_hang_by_turns_end_the_run_as_well() -> None:
    with FaultyServer(always("hang")) as one, FaultyServer(always("hang")) as two:
        engine = engine_for(
            one, two, timeout_seconds=0.15, patience_seconds=0.2, max_wait_seconds=0.05
        )
        with pytest.raises(GenerationError, match=r"no reply within 0.15 s; .*: no reply for "):
            engine.generate([request(str(n), f"g{n}") for n in range(30)], PARAMS)
    # Long before every request had its nine tries.
    assert len(one.asked) + len(two.asked) < 30 * 9 / 2


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


def bomb() -> Answer:
    """Return some kilobytes that inflate to more than is ever read."""
    packed = gzip.compress(b" " * (MOST_BYTES + 1))
    return Answer(200, packed, {"Content-Encoding": "gzip"})


@pytest.mark.parametrize("answer", ["endless", bomb()])
def test_an_answer_without_end_is_a_fault_of_its_own(answer: str | Answer) -> None:
    with FaultyServer(first(answer)) as server:
        engine = engine_for(server)
        assert engine.generate([request("a")], PARAMS) == [right(request("a"))]
        assert engine.faults == {"size": 1}
        server.script = always(answer)
        with pytest.raises(GenerationError, match=f"answer of more than {MOST_BYTES} bytes"):
            engine_for(server, max_retries=1).generate([request("a")], PARAMS)


def test_a_reply_may_be_compressed() -> None:
    plain = json.dumps({"choices": [{"finish_reason": "stop", "message": {"content": "Hi."}}]})
    packed = Answer(200, gzip.compress(plain.encode()), {"Content-Encoding": "gzip"})
    with FaultyServer(always(packed)) as server:
        assert engine_for(server).generate([request("a")], PARAMS)[0].text == "Hi."


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


def test_an_engine_is_collected_without_waiting_for_its_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The interpreter may collect it while the thread holds a lock that closing needs.
    may_close, closed = threading.Event(), threading.Event()

    async def close(_: Client) -> None:
        for _ in range(500):
            if may_close.is_set():
                break
            await asyncio.sleep(0.01)
        closed.set()

    with FaultyServer() as server:
        engine = engine_for(server)
        others = set(threading.enumerate())
        engine.generate([request("a")], PARAMS)
        (thread,) = (t for t in set(threading.enumerate()) - others if t.name == "gatt-servers")
        monkeypatch.setattr(Client, "close", close)
        del engine
        gc.collect()
        assert not closed.is_set()
        may_close.set()
        assert closed.wait(5)
    thread.join(5)
    assert not thread.is_alive()
