"""An OpenAI-compatible HTTP server that misbehaves on purpose, by a script.

The right reply is a function of the prompt (`right_reply`); every wrong one says `WRONG`, so that a test sees
it wherever it turns up.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from gatt.data.dialogue import Message
from gatt.generation.base import Generation, GenerationRequest, SamplingParams
from gatt.generation.servers import engine
from gatt.generation.servers.config import ServerConfig
from gatt.generation.servers.engine import OpenAIEngine

MODEL = "teacher"
WRONG = "WRONG"

STATUSES = {
    "429": 429, "429 seconds": 429, "429 date": 429,
    "408": 408, "500": 500, "502": 502, "503": 503,
}  # fmt: skip
BROKEN = ("hang", "reset", "truncated", "invalid", "no choices")
CHUNK = f"{2**16:x}\r\n{' ' * 2**16}\r\n".encode()
"""Of a body that is sent piece by piece."""
ENDS = {
    "length": "length", "content_filter": "content_filter", "no content": "other", "eos": "other",
}  # fmt: skip
"""What is scripted of a reply, and its `finish`."""


@dataclass(frozen=True)
class Asked:
    """One request as it came in."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    prompt: str
    nth: int
    """How often this prompt was asked before."""


@dataclass(frozen=True)
class Answer:
    """A status with a body of its own, for scripts that need one."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


Script = Callable[[Asked], "str | Answer"]


def right_reply(messages: Any) -> str:
    """Return what the server says to a conversation when it behaves."""
    text = json.dumps([dict(m) for m in messages], ensure_ascii=False)
    return f"This is reply {hashlib.sha256(text.encode()).hexdigest()[:16]}."


def seeded_script(seed: int, share: float, weights: Mapping[str, float]) -> Script:
    """Return a script that draws faults by seed, prompt and how often it was asked."""

    def script(asked: Asked) -> str:
        rng = random.Random(f"{seed}/{asked.nth}/{asked.prompt}")
        return rng.choices([*weights], [*weights.values()])[0] if rng.random() < share else "ok"

    return script


class FaultyServer:
    """Serves on a free port of this machine until it is left.

    Args:
        script: says what becomes of each request: `ok`, one of `STATUSES`, `BROKEN` or `ENDS`, `endless` (a
            body that ends with the connection), `die` (the server is gone from then on), or an `Answer`.
        retry_after: seconds that `429 seconds` asks for.
        seconds: how long a good reply takes.
    """

    def __init__(
        self,
        script: Script = lambda asked: "ok",
        *,
        retry_after: float = 0.05,
        seconds: float = 0.0,
    ) -> None:
        self.script = script
        self.retry_after = retry_after
        self.seconds = seconds
        self.asked: list[Asked] = []
        self.faults: Counter[str] = Counter()
        self.num_in_flight = self.most_in_flight = 0
        self.ended = threading.Event()
        self.lock = threading.Lock()
        self._times_asked: Counter[str] = Counter()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.faulty = self
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> FaultyServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.die()

    def die(self) -> None:
        """Stop listening, and answer nothing on the connections that are open."""
        self.ended.set()
        self._http.shutdown()
        self._http.server_close()

    def note(self, path: str, headers: Mapping[str, str], body: dict[str, Any]) -> Asked:
        """Record a request."""
        prompt = json.dumps(body.get("messages"), ensure_ascii=False)
        with self.lock:
            asked = Asked(path, headers, body, prompt, self._times_asked[prompt])
            self._times_asked[prompt] += 1
            self.asked.append(asked)
        return asked

    @contextlib.contextmanager
    def in_flight(self) -> Any:
        """Count a request while it is answered."""
        with self.lock:
            self.num_in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.num_in_flight)
        try:
            yield
        finally:
            with self.lock:
                self.num_in_flight -= 1


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 512
    faulty: FaultyServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body in one packet: apart they wait for each other's acknowledgement.
    wbufsize = 65536
    disable_nagle_algorithm = True

    server: _Http

    def log_message(self, *args: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        faulty = self.server.faulty
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if faulty.ended.is_set():
            return self.reset()
        asked = faulty.note(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
        with faulty.in_flight():
            return self.answer(asked)

    def answer(self, asked: Asked) -> None:
        faulty = self.server.faulty
        said = faulty.script(asked)
        if isinstance(said, Answer):
            return self.send(said.status, said.body, said.headers)
        faulty.faults[said] += 1
        if said == "die":
            threading.Thread(target=faulty.die, daemon=True).start()
        if said in ("die", "hang"):
            faulty.ended.wait(30)
            return self.reset()
        if said in STATUSES:
            waits = {"429 date": formatdate(usegmt=True), "429 seconds": str(faulty.retry_after)}
            headers = {"Retry-After": waits[said]} if said in waits else {}
            return self.send(STATUSES[said], {"error": {"message": f"scripted {said}"}}, headers)
        if said == "endless":
            return self.send_endlessly()
        time.sleep(faulty.seconds)
        return self.complete(asked, said)

    def complete(self, asked: Asked, said: str) -> None:
        text = right_reply(asked.body["messages"]) if said == "ok" else WRONG
        message = {"role": "assistant", "content": text}
        if said == "no content":
            del message["content"]
        finish = said if said in ENDS and said != "no content" else "stop"
        choice = {"index": 0, "finish_reason": finish, "message": message}
        raw = json.dumps(
            {
                "id": "r", "object": "chat.completion", "created": 0,
                "model": asked.body["model"],
                "choices": [] if said == "no choices" else [choice],
                "usage": {
                    "prompt_tokens": 3,
                    "completion_tokens": 7,
                    "total_tokens": 10,
                    "prompt_tokens_details": {"cached_tokens": 2},
                },
            }
        ).encode()  # fmt: skip
        if said == "reset":
            self.send_head(200, {"Content-Length": str(len(raw))})
            self.wfile.write(raw[: len(raw) // 2])
            self.wfile.flush()
            return self.reset()
        if said == "truncated":
            raw = raw[: len(raw) * 2 // 3]
        return self.send(200, b"<html>" + raw if said == "invalid" else raw)

    def send(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        length = {"Content-Type": "application/json", "Content-Length": str(len(raw))}
        self.send_head(status, length | dict(headers or {}))
        self.wfile.write(raw)

    def send_head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def send_endlessly(self) -> None:
        self.send_head(200, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"})
        with contextlib.suppress(OSError):
            while not self.server.faulty.ended.is_set():
                self.wfile.write(CHUNK)
        self.close_connection = True

    def reset(self) -> None:
        """Break the connection off: the other side sees a reset, not an end."""
        self.close_connection = True
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()


KEY = "tok-4f1c9a77e0b3"
PARAMS = SamplingParams(max_new_tokens=16, temperature=0.7, top_p=0.9, seed=3)


def settings(*urls: str, **changes: Any) -> ServerConfig:
    """Return settings for a test."""
    return ServerConfig(**{"urls": urls, "timeout_seconds": 5.0, "max_concurrency": 8, **changes})


def shorten_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the pauses between two tries some that a test can wait for, and use no proxy."""
    monkeypatch.setattr(engine, "PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(engine, "LONGEST_PAUSE_SECONDS", 0.05)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "NO_PROXY", "no_proxy"):
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


def completion(content: Any, finish: Any = "stop") -> Answer:
    """Return a chat completion."""
    choice = {"finish_reason": finish, "message": {"role": "assistant", "content": content}}
    return Answer(200, {"choices": [choice], "usage": {"completion_tokens": 7}})


def error(status: int, message: str, code: str = "") -> Answer:
    """Return an error in OpenAI's form."""
    return Answer(status, {"error": {"message": message, "code": code}})
