"""The one line that a run ends with: which endpoint, what was seen, how far it came, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gatt.errors import GenerationError
from gatt.generation.servers.config import ServerConfig
from gatt.generation.servers.endpoint import Endpoint
from gatt.generation.servers.faults import Fault, Refused
from gatt.generation.servers.queue import Job

_AGAIN: Final = "then run again: it goes on where it stopped"


def progress(num_replies: int, num_jobs: int) -> str:
    """Return how far a call came."""
    return f"{num_replies} of {num_jobs} replies of this call were had"


def gone(endpoints: Sequence[Endpoint], seconds: float | None, came: str) -> GenerationError:
    """Return the error of a call to which nobody answers.

    Args:
        endpoints: all of them.
        seconds: since the last reply; None where there never was an answer.
        came: how far it came.
    """
    seen = "; ".join(
        f"{e.url}: {e.last_fault.what if e.last_fault else 'no request yet'}" for e in endpoints
    )
    if seconds is None:
        why, what_to_do = "no answer", "start the server or mend server.urls"
    else:
        why, what_to_do = f"no reply for {seconds:.0f} s", "look at the server's log"
        if all(e.last_fault and e.last_fault.kind == "timeout" for e in endpoints):
            what_to_do += " or raise server.timeout_seconds"
    return GenerationError(f"{seen}: {why} ({came}): {what_to_do}, {_AGAIN}")


def given_up(endpoint: Endpoint, job: Job, fault: Fault, came: str) -> GenerationError:
    """Return the error of a request that failed too often."""
    what_to_do = "look at the server's log or raise server.max_retries"
    if fault.kind == "timeout":
        what_to_do = "raise server.timeout_seconds or lower server.max_concurrency"
    elif fault.kind == "model":
        what_to_do = "name that model, or set server.answers_as if it is the same one"
    elif fault.kind in ("status", "reply"):
        what_to_do += ", or let such requests go with server.max_unanswered"
    return GenerationError(
        f"{endpoint.url}: request {job.key!r} failed {job.num_faults + job.num_of_prompt} times, the last "
        f"time: {fault.what} ({came}): {what_to_do}, {_AGAIN}"
    )


def never_right(endpoint: Endpoint, fault: Fault, model: str) -> GenerationError:
    """Return the error of a server that has only replies of another model."""
    return GenerationError(
        f"{endpoint.url}: {fault.what}, not {model!r}'s, every time: name the model that is "
        "served, or set server.answers_as to that name if it is the same one"
    )


def refusal(
    endpoint: Endpoint, refused: Refused, model: str, config: ServerConfig
) -> GenerationError:
    """Return the error of a status that will not heal."""
    if refused.status in (401, 403):
        what_to_do = (
            f"put a key that may use {model!r} into the environment variable {config.key_name}"
        )
    elif refused.status in (404, 405):
        what_to_do = (
            f"name a model that it serves (asked for {model!r}), or mend server.urls: base URLs as "
            "a rule end in /v1"
        )
    elif refused.status == 429:
        what_to_do = "the quota is used up: raise it"
    elif "max_completion_tokens" in refused.message:
        what_to_do = "set server.max_tokens_field to max_completion_tokens"
    else:
        what_to_do = "change what it does not take (model, sampling or server.extra_body)"
    return GenerationError(f"{endpoint.url}: {refused}: {what_to_do}")
