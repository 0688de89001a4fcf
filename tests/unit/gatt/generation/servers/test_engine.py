"""The engine for servers: what it asks, how it takes faults, how a run ends, and no key anywhere."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import os
import signal
import traceback
from collections.abc import Iterator

import httpx2
import pytest

from gatt.errors import ConfigError, GenerationError, ModelError
from gatt.generation.base import Generation, can_prefill, stream_seed
from gatt.generation.scripted import ScriptedEngine
from gatt.generation.servers import engine as module
from gatt.generation.servers.answer import MOST_BYTES, Fault, Reading, post
from gatt.generation.servers.engine import OpenAIEngine
from gatt.generation.servers.neutral import NEUTRAL
from gatt.generation.servers.proxies import is_loopback
from tests.support.servers.faulty_server import (
    BROKEN,
    KEY,
    MODEL,
    PARAMS,
    STATUSES,
    WRONG,
    Answer,
    Asked,
    FaultyServer,
    always,
    engine_for,
    error,
    first,
    request,
    right,
    right_reply,
    settings,
)

NESTED = b"[" * 100_000 + b"]" * 100_000
BOMB = Answer(200, gzip.compress(b" " * (MOST_BYTES + 1)), {"Content-Encoding": "gzip"})
"""Some kilobytes that inflate to more than is ever read."""


TOO_LONG = Generation("", "context_limit", 0)


def closed_url() -> str:
    with FaultyServer() as server:
        return server.url


def breaks_on(fault: str, *names: str):
    """Return a script that some prompts break, and that answers all others."""

    def script(asked: Asked) -> str:
        return fault if any(f'"{name}, message' in asked.prompt for name in names) else "ok"

    return script


def test_replies_come_in_order_with_what_the_server_was_asked() -> None:
    asked = [request("b"), request("a", turns=2), request("c")]
    with FaultyServer() as server:
        engine = engine_for(server, extra_body={"top_k": -1})
        assert engine.generate(asked, PARAMS) == [right(r) for r in asked]
        assert engine.generate([], PARAMS) == []
        changed = engine_for(server, max_tokens_field="max_completion_tokens")
        changed.generate([request("d")], PARAMS)
        assert server.asked[-1].body["max_completion_tokens"] == 16
        assert "max_tokens" not in server.asked[-1].body
        adapted = OpenAIEngine(MODEL, settings(server.url), adapters={"gatt": "lora-7"})
        adapted.generate([request("a")], PARAMS, "gatt")
        assert server.asked[-1].body["model"] == "lora-7"
        with pytest.raises(ModelError, match=r"'x'.*gatt"):
            adapted.generate([request("a")], PARAMS, "x")
    counters = engine.counters
    assert (counters.num_replies, counters.num_sampled_tokens) == (3, 21)
    assert (counters.num_prompt_tokens, counters.num_cached_tokens) == (9, 6)
    (sent,) = (a for a in server.asked if len(a.body["messages"]) == 3)
    assert sent.body == {
        "model": MODEL, "messages": [m.as_dict() for m in asked[1].messages], "max_tokens": 16,
        "temperature": 0.7, "top_p": 0.9, "seed": stream_seed(3, "a/2") % 2**31, **NEUTRAL, "top_k": -1,
    }  # fmt: skip
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.path == "/v1/chat/completions"


def test_a_beginning_is_given_to_servers_that_go_on_with_it() -> None:
    with FaultyServer() as server:
        engine = engine_for(server, can_prefill=True)
        (reply,) = engine.generate([request("a", prefill="I row, ")], PARAMS)
        with pytest.raises(GenerationError, match=r"'a/1'.*can_prefill"):
            engine_for(server).generate([request("a", prefill="I row")], PARAMS)
    body = server.asked[0].body
    assert body["messages"][-1] == {"role": "assistant", "content": "I row, "}
    assert (body["continue_final_message"], body["add_generation_prompt"]) == (True, False)
    assert reply.text == f"I row, {right_reply(body['messages'])}"
    assert can_prefill(engine)
    assert not can_prefill(engine_for(server))
    assert can_prefill(ScriptedEngine(lambda r: "x"))


@pytest.mark.parametrize(
    "fault",
    [*STATUSES, *BROKEN, "endless", BOMB, Answer(200, NESTED), Answer(500, NESTED),
     Answer(200, b"x", {"Content-Encoding": "gzip"})],
    ids=lambda fault: fault if isinstance(fault, str) else f"{fault.status}",
)  # fmt: skip
def test_every_fault_is_tried_again_and_never_a_reply(fault: str | Answer) -> None:
    asked = [request("a"), request("b")]
    with FaultyServer(first(fault)) as server:
        engine = engine_for(server, timeout_seconds=0.5 if fault == "hang" else 20.0)
        assert engine.generate(asked, PARAMS) == [right(r) for r in asked]
        assert len(server.asked) == 4


def test_too_many_requests_are_waited_out_and_use_up_no_tries() -> None:
    with FaultyServer(first("429", times=12)) as server:
        engine = engine_for(server, max_retries=1)
        assert engine.generate([request("a")], PARAMS) == [right(request("a"))]


@pytest.mark.parametrize("headers", [{}, {"Retry-After": "86400"}])
@pytest.mark.parametrize("status", [429, 200])
def test_a_quota_that_is_used_up_is_told_in_one_line_and_ends_the_run(
    caplog, headers, status: int
) -> None:
    """Good replies between the refusals start the wait anew; a wait longer than the limit is not begun."""
    words = {"error": {"code": 429, "message": "40 requests a day"}}
    with FaultyServer(
        lambda asked: Answer(status, words, headers) if "bad" in asked.prompt else "ok"
    ) as server:
        engine = engine_for(server, max_wait_seconds=0.3)
        with pytest.raises(GenerationError) as caught:
            engine.generate([request("a"), *(request(f"bad{n}") for n in range(9))], PARAMS)
        assert all(a.nth == 0 for a in server.asked) == bool(headers)
    facts = ("429", "40 requests a day", "server.max_wait_seconds", "run again")
    assert [fact for fact in facts if fact not in str(caught.value)] == []
    (line,) = caplog.messages or ["40 requests a day"] * bool(headers)
    assert "40 requests a day" in line


def test_fields_that_a_server_refuses_are_left_out() -> None:
    with FaultyServer() as server:
        engine_for(server, omit=("top_p", "seed", "temperature")).generate([request("a")], PARAMS)
        assert set(server.asked[-1].body) - NEUTRAL.keys() == {"model", "messages", "max_tokens"}
        engine_for(server, omit=("max_tokens",), max_tokens_field="max_completion_tokens").generate(
            [request("b")], PARAMS
        )
        assert {"max_tokens", "max_completion_tokens"}.isdisjoint(server.asked[-1].body)


@pytest.mark.parametrize(
    ("settings", "message", "way"),
    [
        ({}, "Unsupported parameter: 'top_p'; Unknown field seed", "server.omit: [top_p, seed]"),
        ({}, "'temperature' does not support 0.0 with this model", "server.omit: [temperature]"),
        ({}, "Unsupported parameter: 'max_tokens'", "server.max_tokens_field: max_completion_tokens"),
        ({}, "Use 'max_completion_tokens' instead", "server.max_tokens_field: max_completion_tokens"),
        ({"max_tokens_field": "max_completion_tokens"}, "Extra inputs: max_completion_tokens",
         "server.max_tokens_field: max_tokens"),
        ({}, "max_tokens is too large: 9. This model supports at most 8 completion tokens",
         "a smaller max_new_tokens"),
        ({"extra_body": {"top_k": 1}}, "top_k is unknown", "server.extra_body without top_k"),
        ({"can_prefill": True}, "Unknown: add_generation_prompt", "server.can_prefill: false"),
        ({}, "no", "server.omit"),
    ],
)  # fmt: skip
def test_the_advice_after_a_refusal_names_a_setting_that_works(settings, message, way) -> None:
    asked = request("a", prefill="I " if settings.get("can_prefill") else "")
    with (
        FaultyServer(always(error(400, message))) as server,
        pytest.raises(GenerationError) as caught,
    ):
        engine_for(server, **settings).generate([asked], PARAMS)
    assert way in str(caught.value)


@pytest.mark.parametrize(
    ("variables", "url", "facts"),
    [
        ({"ALL_PROXY": "socks://10.0.0.1:1080"}, "http://host.invalid/v1", ("ALL_PROXY", "socks")),
        ({"https_proxy": "socks5://10.0.0.1:1"}, "https://host.invalid/v1", ("https_proxy", "socksio")),
        ({"HTTP_PROXY": "http://127.0.0.1:9"}, "http://host.invalid/v1", ("HTTP_PROXY", "NO_PROXY")),
        ({"HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "invalid"}, "http://host.invalid/v1",
         ("server.urls",)),
    ],
)  # fmt: skip
def test_a_proxy_in_the_way_is_named_by_its_variable(monkeypatch, variables, url, facts) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises((ConfigError, GenerationError)) as caught:
        OpenAIEngine(MODEL, settings(url, max_retries=0)).generate([request("a")], PARAMS)
    assert [fact for fact in facts if fact not in str(caught.value)] == []
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("proxy", ["socks://10.0.0.1:1080", "http://127.0.0.1:9", "nonsense://"])
def test_servers_of_this_machine_are_asked_without_a_proxy(monkeypatch, proxy: str) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy)
    with FaultyServer() as server:
        local = [server.url, server.url.replace("127.0.0.1", "localhost")]
        for url in local:
            engine = OpenAIEngine(MODEL, settings(url))
            assert engine.generate([request("a")], PARAMS) == [right(request("a"))]
        if proxy.startswith("http:"):
            both = OpenAIEngine(MODEL, settings(*local, "http://host.invalid/v1"))
            assert both.generate([request("b")], PARAMS) == [right(request("b"))]
    loopback = (
        "http://[::1]:8/v1", "http://127.9.9.9/v1", "http://a.localhost/v1", "http://0.0.0.0/v1",
    )  # fmt: skip
    assert all(map(is_loopback, loopback))
    assert not any(map(is_loopback, ("http://10.0.0.1/v1", "http://localhost.com/v1")))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"Retry-After": "7"}, 7.0), ({"Retry-After": "0.5"}, 0.5), ({"Retry-After": "99"}, 60.0),
     ({"Retry-After": "soon"}, 2.0), ({}, 2.0)],
)  # fmt: skip
def test_the_next_try_comes_when_the_server_says(monkeypatch, headers, seconds: float) -> None:
    """Without the header the third pause is four times the first, the longest 0.5 s."""
    monkeypatch.undo()
    monkeypatch.setattr("random.uniform", lambda low, high: high)

    async def busy(http: httpx2.AsyncClient) -> Fault:
        with pytest.raises(Fault) as caught:
            await post(http, "http://host/v1", {}, 5.0, Reading(clean=str))
        return caught.value

    transport = httpx2.MockTransport(lambda _: httpx2.Response(429, headers=headers))
    fault = asyncio.run(busy(httpx2.AsyncClient(transport=transport)))
    assert module._pause(fault, 3) == seconds


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("length", Generation(WRONG, "length", 7)),
        (error(400, "This model's maximum context length is 512 tokens."), TOO_LONG),
        (error(500, "Input length (9 tokens) exceeds the maximum allowed length (8 tokens)."), TOO_LONG),
        (Answer(413, b"<html>Payload Too Large</html>"), TOO_LONG),
        (Answer(422, {"detail": [{"loc": ["max_tokens"], "msg": "must be > 0", "input": -4}]}), TOO_LONG),
        (Answer(200, {"error": {"code": 400, "message": "prompt is too long"}}), TOO_LONG),
        ("eos", Generation(WRONG, "other", 7, "eos")),
        (error(400, "filtered", "content_filter"), Generation("", "content_filter", 0)),
        ("content_filter", Generation(WRONG, "content_filter", 7)),
    ],
)  # fmt: skip
def test_a_reply_says_how_it_ended(answer: str | Answer, expected: Generation, caplog) -> None:
    with FaultyServer(always(answer)) as server:
        asked = [request("a"), request("b")]
        assert engine_for(server).generate(asked, PARAMS) == [expected] * 2
    # The first prompt that is too long is told, with the server's words.
    assert len(caplog.messages) == (expected == TOO_LONG)


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        (error(401, "no such key"), ("401", "no such key", "server.api_key_env")),
        (error(404, "no model"), ("404", "no model", repr(MODEL), "server.urls")),
        (Answer(422, {"detail": "Unexpected: {'seed'}"}), ("422", "Unexpected: {'seed'}")),
        (Answer(400, {"detail": [{"loc": "n"}]}), ("400", '[{"loc": "n"}]', "server.extra_body")),
        (error(400, "use max_completion_tokens"), ("400", "server.max_tokens_field")),
        (error(429, "pay", "insufficient_quota"), ("429", "pay", "quota")),
        (Answer(307, b"", {"Location": "https://b/v1"}), ("307", "https://b/v1", "server.urls")),
        (Answer(307, b"", {"Location": "file:///etc/passwd"}), ("307", "file:///etc", "server.urls")),
    ],
)  # fmt: skip
def test_what_will_not_heal_ends_at_once_in_one_line(answer: Answer, facts) -> None:
    with FaultyServer(always(answer)) as server:
        with pytest.raises(GenerationError) as caught:
            engine_for(server, max_concurrency=1).generate([request(n) for n in "abcdef"], PARAMS)
        # One more may begin before the first one's end is known.
        assert len(server.asked) <= 2
    said = str(caught.value)
    assert said.startswith(server.url)
    assert [fact for fact in facts if fact not in said] == []
    assert "\n" not in said


@pytest.mark.parametrize(
    ("fault", "facts"),
    [
        ("500", ("status 500", "the server's log")),
        ("hang", ("0.2 s", "server.timeout_seconds")),
        ("invalid", ("JSON", "<html>")),
        ("endless", (str(MOST_BYTES),)),
    ],
)
def test_a_request_that_fails_again_and_again_ends_the_run_in_one_line(fault: str, facts) -> None:
    asked = [request("bad"), *(request(str(n)) for n in range(9))]
    with FaultyServer(breaks_on(fault, "bad")) as server:
        engine = engine_for(server, max_retries=2, timeout_seconds=0.2 if fault == "hang" else 20)
        with pytest.raises(GenerationError) as caught:
            engine.generate(asked, PARAMS)
        assert sum("bad" in a.prompt for a in server.asked) == 3
    said = str(caught.value)
    assert said.startswith(f"{server.url}: request 'bad/1' failed 3 times")
    assert [fact for fact in facts if fact not in said] == []
    assert "\n" not in said


def test_a_dead_server_ends_the_run_at_the_first_try() -> None:
    url = closed_url()
    engine = OpenAIEngine(MODEL, settings(url))
    with pytest.raises(GenerationError, match=r"server\.urls") as caught:
        engine.generate([request(str(n)) for n in range(20)], PARAMS)
    assert str(caught.value).startswith(f"{url}: request '0/1' failed 1 times")


def test_a_dead_server_leaves_its_work_to_the_others() -> None:
    asked = [request(f"d{n}") for n in range(80)]
    with (
        FaultyServer(lambda a: "die" if len(one.asked) > 5 else "ok") as one,
        FaultyServer() as two,
    ):
        engine = engine_for(one, two)
        assert engine.generate(asked, PARAMS) == [right(r) for r in asked]
        assert one.faults["ok"] + two.faults["ok"] == 80
    assert one.faults["ok"] <= 5


def test_a_slow_server_is_waited_for_while_others_are_dead() -> None:
    """Before its first reply the dead ones have failed more often than there are servers."""
    with FaultyServer(seconds=0.3) as server:
        engine = OpenAIEngine(MODEL, settings(closed_url(), closed_url(), server.url))
        asked = [request(str(n)) for n in range(6)]
        assert engine.generate(asked, PARAMS) == [right(r) for r in asked]


def test_servers_share_the_work_within_the_concurrency() -> None:
    asked = [request(str(n)) for n in range(40)]
    with FaultyServer(seconds=0.01) as one, FaultyServer(seconds=0.01) as two:
        assert engine_for(one, two, max_concurrency=6).generate(asked, PARAMS)
    assert min(len(one.asked), len(two.asked)) > 0
    assert one.most_in_flight + two.most_in_flight <= 6


@pytest.mark.parametrize("status", [401, 500])
@pytest.mark.parametrize("form", ["Bearer {}", "{}", "key={}; again {}"])
def test_a_key_that_the_server_echoes_is_shown_nowhere(status: int, form: str, caplog) -> None:
    caplog.set_level(logging.DEBUG)

    def echo(asked: Asked) -> Answer:
        sent = asked.headers["authorization"].removeprefix("Bearer ")
        return error(status, f"cannot take {form.format(sent, sent)}")

    with FaultyServer(echo) as server:
        engine = engine_for(server, max_retries=1)
        with pytest.raises(GenerationError, match=r"\[key\]") as caught:
            engine.generate([request("a")], PARAMS)
    shown = (*traceback.format_exception(caught.value), repr(vars(engine)), caplog.text)
    assert KEY not in "".join(shown)


def test_callers_in_event_loops_are_served() -> None:
    with FaultyServer() as server:
        engine = engine_for(server)

        async def inside() -> list[Generation]:
            return engine.generate([request("loop")], PARAMS)

        assert asyncio.run(inside()) == [right(request("loop"))]


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
        assert engine.generate([request("a")], PARAMS) == [right(request("a"))]
    assert json.loads(server.asked[0].prompt)
