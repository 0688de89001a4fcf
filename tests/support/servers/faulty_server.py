"""An OpenAI-compatible HTTP server that misbehaves on purpose, by a script.

The right reply is a function of the prompt (`right_reply`); every wrong one
says `WRONG`, so that a test sees it wherever it turns up.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
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

MODEL = "teacher"
WRONG = "WRONG"

STATUSES = {
    "429": 429, "429 seconds": 429, "429 date": 429,
    "408": 408, "500": 500, "502": 502, "503": 503,
}  # fmt: skip
BROKEN = ("hang", "reset", "truncated", "invalid", "no choices", "no content")
CHUNK = f"{2**16:x}\r\n{' ' * 2**16}\r\n".encode()
"""Of a body that is sent piece by piece."""
ENDS = ("length", "content_filter")
FAULTS = (*STATUSES, *BROKEN, *ENDS)


@dataclass(frozen=True)
class Asked:
    """One request as it came in."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    nth: int
    """How often this prompt was asked before."""
    at: float = field(default_factory=time.monotonic)

    @property
    def prompt(self) -> str:
        return json.dumps(self.body.get("messages"), ensure_ascii=False)


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
    names, mass = list(weights), sum(weights.values())

    def script(asked: Asked) -> str:
        digest = hashlib.sha256(f"{seed}/{asked.nth}/{asked.prompt}".encode()).digest()
        drawn = int.from_bytes(digest[:8], "big") / 2**64
        if drawn >= share:
            return "ok"
        point = drawn / share * mass
        for name in names:
            point -= weights[name]
            if point < 0:
                return name
        return names[-1]

    return script


class FaultyServer:
    """Serves on a free port of this machine until it is left.

    Args:
        script: says what becomes of each request: `ok`, one of `FAULTS`, `endless` (a body that ends
            with the connection), `die` (the server is gone from then on), or an `Answer`.
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
        self.is_dead = False
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
        self.is_dead = True
        self.ended.set()
        self._http.shutdown()
        self._http.server_close()

    def note(self, path: str, headers: Mapping[str, str], body: dict[str, Any]) -> Asked:
        """Record a request."""
        with self.lock:
            prompt = json.dumps(body.get("messages"), ensure_ascii=False)
            asked = Asked(path, headers, body, self._times_asked[prompt])
            self._times_asked[prompt] += 1
            self.asked.append(asked)
        return asked


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
        if faulty.is_dead:
            return self.reset()
        asked = faulty.note(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
        with faulty.lock:
            faulty.num_in_flight += 1
            faulty.most_in_flight = max(faulty.most_in_flight, faulty.num_in_flight)
        try:
            self.answer(asked)
        finally:
            with faulty.lock:
                faulty.num_in_flight -= 1
        return None

    def answer(self, asked: Asked) -> None:
        faulty = self.server.faulty
        said = faulty.script(asked)
        if isinstance(said, Answer):
            return self.send(said.status, said.body, said.headers)
        faulty.faults[said] += 1
        if said == "die":
            threading.Thread(target=faulty.die, daemon=True).start()
            faulty.ended.wait(5)
            return self.reset()
        if said in STATUSES:
            return self.send(
                STATUSES[said], {"error": {"message": f"scripted {said}"}}, self.waits(said)
            )
        if said == "hang":
            faulty.ended.wait(30)
            return self.reset()
        if said == "endless":
            return self.send_endlessly()
        if faulty.seconds:
            time.sleep(faulty.seconds)
        return self.complete(asked, said)

    def complete(self, asked: Asked, said: str) -> None:
        text = right_reply(asked.body["messages"]) if said == "ok" else WRONG
        reply: dict[str, Any] = {
            "id": "r",
            "object": "chat.completion",
            "created": 0,
            "model": asked.body["model"],
            "choices": [
                {
                    "index": 0,
                    "finish_reason": said if said in ENDS else "stop",
                    "message": {"role": "assistant", "content": text},
                }
            ],
            "usage": {"prompt_tokens": 3, "completion_tokens": 7, "total_tokens": 10},
        }
        if said == "no choices":
            reply["choices"] = []
        if said == "no content":
            del reply["choices"][0]["message"]["content"]
        raw = json.dumps(reply).encode()
        if said == "reset":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw[: len(raw) // 2])
            self.wfile.flush()
            return self.reset()
        if said == "truncated":
            raw = raw[: len(raw) * 2 // 3]
        if said == "invalid":
            raw = b"<html>" + raw
        return self.send(200, raw)

    def waits(self, said: str) -> dict[str, str]:
        if said == "429 date":
            return {"Retry-After": formatdate(time.time(), usegmt=True)}
        return {"Retry-After": str(self.server.faulty.retry_after)} if said == "429 seconds" else {}

    def send(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def send_endlessly(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
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
