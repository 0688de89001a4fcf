"""Servers that fail, lie or never end: each ends a run in one line."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest

from tests.support.hostile.commands import Row, refused
from tests.support.hostile.world import SYNTH, at
from tests.support.servers.faulty_server import MODEL, Answer, FaultyServer, always

QUICK = "--teacher.engine.server.max_retries=1 --teacher.engine.server.timeout_seconds=2"
BOMB = gzip.compress(b"[" * 2**27, mtime=0)


def asking(name: str, url: str) -> Row:
    """Return a run whose teacher is at the address, which is refused and named."""
    command = f"{at(SYNTH, base=MODEL)} --teacher.engine.server.urls=[{url}] {QUICK}"
    return refused(name, command, url.split("/")[2])


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "answer",
    [
        "500", "invalid", "truncated", "reset", "no choices", "endless", "die",
        Answer(401, {"error": {"message": "bad key"}}), Answer(200, b"null"), Answer(200, b"[" * 10**6),
        Answer(200, {"choices": [{"message": {"content": 7}}]}), Answer(200, {"choices": {"a": 1}}),
        Answer(200, BOMB, {"Content-Encoding": "gzip"}), Answer(200, b"x", {"Content-Encoding": "gzip"}),
        Answer(307, b"", {"Location": "file:///etc/passwd"}),
    ],
    ids=lambda answer: answer if isinstance(answer, str) else f"{answer.status} {str(answer.body)[:20]}",
)  # fmt: skip
def test_a_server_that_gives_no_reply_ends_a_run_in_one_line(
    answer: str | Answer, run: Callable[..., None]
) -> None:
    with FaultyServer(always(answer)) as server:
        run(asking("server", server.url))


def test_a_server_that_is_not_there_is_named(run: Callable[..., None]) -> None:
    run(asking("none", "http://127.0.0.1:9/v1"))
