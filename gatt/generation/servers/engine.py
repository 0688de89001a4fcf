"""The engine for servers that speak the OpenAI protocol: vLLM, SGLang, llama.cpp, hosted ones."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import httpx2

from gatt.errors import GenerationError, ModelError
from gatt.generation.base import Generation, GenerationRequest, SamplingParams, stream_seed
from gatt.generation.servers.advice import (
    PREFILLING,
    after_fault,
    after_refusal,
    through_proxy,
)
from gatt.generation.servers.answer import Fault, Reading, Refused, post
from gatt.generation.servers.config import ServerConfig
from gatt.generation.servers.neutral import NeutralFields
from gatt.generation.servers.proxies import make_client
from gatt.generation.servers.quota import Quota
from gatt.runs.secrets import public

if TYPE_CHECKING:
    from gatt.generation.servers.started import StartedServers

SEED_BITS: Final = 31
"""Every server takes seeds below 2**31."""
PAUSE_SECONDS: Final = 0.5
"""Longest pause before the second try; it doubles with each further one."""
LONGEST_PAUSE_SECONDS: Final = 60.0
_CONNECT_SECONDS: Final = 10.0
T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass
class ServerCounters:
    """What came from the servers since the engine was made."""

    num_replies: int = 0
    num_sampled_tokens: int = 0
    """As the servers count them."""
    num_not_neutral: int = 0
    """Replies whose server refused a field of `gatt.generation.servers.neutral`: its own default counted."""
    num_prompt_tokens: int = 0
    """Of replies whose server says how many of them it had in its prefix cache."""
    num_cached_tokens: int = 0
    """Those that it had there."""


@dataclass(eq=False)
class _Endpoint:
    url: str
    num_in_flight: int = 0
    num_failed: int = 0
    """Faults in a row."""
    rests_until: float = 0.0
    """By the monotonic clock; until then other endpoints are asked first."""


@dataclass(frozen=True)
class _Call:
    """What the requests of one call share."""

    http: httpx2.AsyncClient
    slots: asyncio.Semaphore
    clean: Callable[[str], str]
    """Removes keys from what is shown."""
    model: str
    params: SamplingParams


class OpenAIEngine:
    """Answers requests through one or several OpenAI-compatible endpoints.

    `model` is the name under which the servers know the base model; `adapters` has the name under which each is
    served, by ours. `servers` were started for the engine, and end with it.

    Raises:
        ConfigError: the key is missing, or no header can carry it.
    """

    def __init__(
        self,
        model: str,
        config: ServerConfig,
        *,
        adapters: Mapping[str, str] | None = None,
        servers: StartedServers | None = None,
    ) -> None:
        config.read_key()
        self._servers = servers
        self.name = model
        self.can_prefill = config.can_prefill
        self.counters = ServerCounters()
        self.on_reply: Callable[[GenerationRequest, Generation], None] | None = None
        """Is given each reply as it comes: an error of a later one loses none."""
        self._config = config
        self._adapters = dict(adapters or {})
        self._endpoints = [_Endpoint(url.rstrip("/")) for url in config.urls]
        self._was_reached = False
        self._quota = Quota(config.max_wait_seconds)
        self._has_told_of_length = False
        self._neutral = NeutralFields((*config.extra_body, *config.omit))

    def generate(
        self,
        requests: Sequence[GenerationRequest],
        params: SamplingParams,
        adapter: str | None = None,
    ) -> list[Generation]:
        """Return one reply per request, in order; see `Engine.generate`.

        A prompt that the server finds too long gets an empty reply with
        `finish="context_limit"`, one that a filter refuses `"content_filter"`.
        """
        if adapter is not None and adapter not in self._adapters:
            raise ModelError(
                f"no adapter {adapter!r} is served (known: {', '.join(self._adapters) or 'none'})"
            )
        if not self.can_prefill and (given := [r for r in requests if r.prefill]):
            raise GenerationError(
                f"request {given[0].key!r} gives the beginning of its reply, and server.can_prefill is not "
                "set: set it if the server goes on with a given beginning (vLLM, SGLang), or set "
                "prefill_attempts to 0"
            )
        model = self.name if adapter is None else self._adapters[adapter]
        return _run(self._generate(requests, params, model))

    async def _generate(
        self, requests: Sequence[GenerationRequest], params: SamplingParams, model: str
    ) -> list[Generation]:
        key, seconds = self._config.read_key(), self._config.timeout_seconds
        async with make_client(
            self._config.urls,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx2.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS)),
            limits=httpx2.Limits(max_connections=self._config.max_concurrency),
        ) as http:
            slots = asyncio.Semaphore(self._config.max_concurrency)
            call = _Call(http, slots, partial(public, key=key), model, params)
            tasks = [asyncio.create_task(self._answer(call, request)) for request in requests]
            try:
                return await asyncio.gather(*tasks)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(self, call: _Call, request: GenerationRequest) -> Generation:
        """Return the reply to a request; a failed request is repeated up to `max_retries` times."""
        failed: list[_Endpoint] = []
        num_faults = 0
        while True:
            async with call.slots:
                # First those that failed this request least, then those that work, then the least busy.
                now = time.monotonic()
                endpoint = min(
                    self._endpoints,
                    key=lambda e: (failed.count(e), now < e.rests_until, e.num_in_flight),
                )
                try:
                    reply = await self._ask(call, endpoint, request)
                except Fault as caught:
                    fault = caught
                else:
                    reply = self._counted(endpoint, reply)
                    if self.on_reply is not None:
                        self.on_reply(request, reply)
                    return reply
            failed.append(endpoint)
            pause: float | None = _pause(fault, len(failed))
            # `too many requests` is waited out; only other faults use up tries.
            if fault.kind == "rate_limit":
                pause = self._quota.pause(fault, pause or 0.0, endpoint.url)
            else:
                num_faults += 1
            is_nobody_there = not self._was_reached and all(e.num_failed for e in self._endpoints)
            if num_faults > self._config.max_retries or is_nobody_there or pause is None:
                break
            log.info("%s: request %r: %s: trying again", endpoint.url, request.key, fault)
            await asyncio.sleep(pause)
        raise GenerationError(
            f"{endpoint.url}{through_proxy(endpoint.url)}: request {request.key!r} failed {len(failed)} "
            f"times, the last time: {fault} ({self.counters.num_replies} replies were had before): "
            f"{after_fault(endpoint.url, fault)}, then run again: it goes on where it stopped"
        )

    def _counted(self, endpoint: _Endpoint, reply: Generation) -> Generation:
        """Count a reply and return it; the first prompt that is too long is logged with the server's words."""
        self._quota.ended()
        if reply.finish == "context_limit" and reply.server_end:
            if not self._has_told_of_length:
                log.warning(
                    "%s: a prompt is too long for the server, and its turn gets no reply: %s",
                    endpoint.url, reply.server_end,
                )  # fmt: skip
            self._has_told_of_length = True
            reply = replace(reply, server_end="")
        self.counters.num_replies += 1
        self.counters.num_not_neutral += bool(self._neutral.refused)
        self.counters.num_sampled_tokens += reply.num_tokens
        return reply

    def _count_usage(self, usage: Mapping[str, Any]) -> None:
        """Count the tokens of a prompt, if the server says how many of them it had encoded before."""
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
        num = usage.get("prompt_tokens")
        if isinstance(cached, int) and isinstance(num, int):
            self.counters.num_prompt_tokens += num
            self.counters.num_cached_tokens += cached

    async def _ask(
        self, call: _Call, endpoint: _Endpoint, request: GenerationRequest
    ) -> Generation:
        """Ask one server once."""
        endpoint.num_in_flight += 1
        body = self._body(call, request)
        reading = Reading(
            request.prefill, call.clean, ("stop", *self._config.stop_reasons), self._count_usage
        )
        try:
            reply = await post(
                call.http, f"{endpoint.url}/chat/completions", body,
                self._config.timeout_seconds, reading,
            )  # fmt: skip
        except Refused as refused:
            if self._neutral.refuse(body, refused.status, refused.message):
                return await self._ask(call, endpoint, request)
            raise GenerationError(
                f"{endpoint.url}{through_proxy(endpoint.url)}: model {call.model!r}: {refused}: "
                f"{after_refusal(refused, body)}"
            ) from None
        except Fault as fault:
            self._was_reached |= fault.kind != "unreachable"
            endpoint.num_failed += 1
            endpoint.rests_until = time.monotonic() + _pause(fault, endpoint.num_failed)
            raise
        finally:
            endpoint.num_in_flight -= 1
        self._was_reached = True
        endpoint.num_failed, endpoint.rests_until = 0, 0.0
        return reply

    def _body(self, call: _Call, request: GenerationRequest) -> dict[str, Any]:
        messages = [m.as_dict() for m in request.messages]
        extra = dict(self._config.extra_body)
        if request.prefill:
            messages.append({"role": "assistant", "content": request.prefill})
            extra |= PREFILLING
        settings = {
            "max_tokens": call.params.max_new_tokens,
            "temperature": call.params.temperature,
            "top_p": call.params.top_p,
            "seed": stream_seed(call.params.seed, request.key) % 2**SEED_BITS,
            **self._neutral.sent,
        }
        names = {"max_tokens": self._config.max_tokens_field}
        sent = {names.get(k, k): v for k, v in settings.items() if k not in self._config.omit}
        return {"model": call.model, "messages": messages, **sent, **extra}


def _pause(fault: Fault, num_tries: int) -> float:
    """Return the seconds before the next try."""
    if fault.retry_after is not None:
        return min(fault.retry_after, LONGEST_PAUSE_SECONDS)
    longest: float = PAUSE_SECONDS * 2 ** min(num_tries - 1, 30)
    # Requests that failed together must not come again together.
    return min(longest, LONGEST_PAUSE_SECONDS) * random.uniform(0.5, 1.0)


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns, also where this thread has a running event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
