"""The engine for servers that speak the OpenAI protocol: vLLM, SGLang, llama.cpp, hosted ones."""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gatt.errors import GenerationError, ModelError
from gatt.generation.base import Generation, GenerationRequest, SamplingParams, stream_seed
from gatt.generation.servers.api_keys import read_key
from gatt.generation.servers.client import Client
from gatt.generation.servers.config import ServerConfig
from gatt.generation.servers.dispatch import Dispatcher
from gatt.generation.servers.endpoint import Endpoint
from gatt.generation.servers.error_messages import never_right, refusal
from gatt.generation.servers.event_loop import LoopThread
from gatt.generation.servers.faults import Fault, Refused
from gatt.generation.servers.model_names import is_same_model, not_served
from gatt.generation.servers.queue import Job
from gatt.generation.servers.reply import context_tokens_in, generation_of, read_reply

SEED_BITS: Final = 31
"""Seeds stay below 2**31: every server takes those, and none takes them for its own default."""
_WRONG_AT_FIRST: Final = 3
"""Replies of another model, none of the right one before, that say it is not there."""


@dataclass
class ServerCounters:
    """What came from the servers since the engine was made."""

    num_replies: int = 0
    num_sampled_tokens: int = 0
    """As the servers count them."""


class OpenAIEngine:
    """Answers requests through one or several OpenAI-compatible endpoints.

    Args:
        model: name under which the servers know the base model.
        config: where they are and how they are asked.
        adapters: our name of an adapter to the name under which it is served.
        on_progress: called with the number of requests finished.

    Raises:
        ConfigError: a key that cannot be sent, or is not where the settings say.
    """

    def __init__(
        self,
        model: str,
        config: ServerConfig,
        *,
        adapters: Mapping[str, str] | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> None:
        self.name = model
        self.can_prefill = config.can_prefill
        self.on_progress = on_progress
        self.counters = ServerCounters()
        self.context_tokens: int | None = None
        """Most tokens of prompt and reply together, once a server has said so."""
        self._config = config
        self._adapters = dict(adapters or {})
        key = read_key(config.key_name, is_needed=config.api_key_env is not None)
        self._clients = {
            Endpoint(
                url.rstrip("/"),
                limit=config.max_concurrency / len(config.urls),
                most=config.max_concurrency,
                pause=2 * config.backoff_seconds,
                longest_pause=config.max_wait_seconds,
            ): Client(url, key, config.timeout_seconds)
            for url in config.urls
        }
        self._served: dict[Endpoint, dict[str, str] | None] = {}
        self._num_right: Counter[Endpoint] = Counter()
        self._num_wrong: Counter[Endpoint] = Counter()
        self._dispatcher = Dispatcher(tuple(self._clients), config)
        self._turn = threading.Lock()
        self._loop: LoopThread | None = None
        self._end: weakref.finalize[..., OpenAIEngine] | None = None

    @property
    def faults(self) -> Counter[str]:
        """Faults so far that were tried again, by kind."""
        return self._dispatcher.faults

    def generate(
        self,
        requests: Sequence[GenerationRequest],
        params: SamplingParams,
        adapter: str | None = None,
    ) -> list[Generation]:
        """Return one reply per request, in order; see `Engine.generate`.

        A prompt that the server finds too long gets an empty reply with
        `finish="context_limit"`, one that a filter refuses `"content_filter"`.
        Servers that honour seeds repeat their replies; others do not. May be
        called from several threads, which then wait for each other.
        """
        served_name = self._served_name(adapter)
        if not self.can_prefill and (given := [r for r in requests if r.prefill]):
            raise GenerationError(
                f"request {given[0].key!r} gives the beginning of its reply, and the server is not said "
                "to go on with one: set server.can_prefill if it does (vLLM, SGLang), or "
                "prefill_attempts to 0"
            )
        if not requests:
            return []
        with self._turn:
            if self._loop is None:
                self._loop = LoopThread()
                self._end = weakref.finalize(self, _end, self._loop, tuple(self._clients.values()))
                # A process that ends closes them anyway.
                self._end.atexit = False
            return self._loop.run(self._generate(requests, params, served_name))

    def close(self) -> None:
        """Close the connections; the engine cannot be used again."""
        if self._loop and self._end:
            self._end()
            self._loop.join()

    async def _generate(
        self, requests: Sequence[GenerationRequest], params: SamplingParams, served_name: str
    ) -> list[Generation]:
        await self._check_model(served_name)
        results: dict[int, Generation] = {}

        async def attempt(endpoint: Endpoint, job: Job) -> Generation:
            return await self._ask(endpoint, requests[job.index], params, served_name)

        def on_reply(job: Job, generation: Generation) -> None:
            results[job.index] = generation
            self.counters.num_replies += 1
            self.counters.num_sampled_tokens += generation.num_tokens
            if self.on_progress:
                self.on_progress(1)

        await self._dispatcher.run(_in_line(requests), attempt, on_reply)
        return [results[index] for index in range(len(requests))]

    async def _ask(
        self,
        endpoint: Endpoint,
        request: GenerationRequest,
        params: SamplingParams,
        served_name: str,
    ) -> Generation:
        client = self._clients[endpoint]
        try:
            body = await client.complete(self._body(request, params, served_name))
            reply = read_reply(
                body,
                prefill=request.prefill,
                is_asked=lambda said: (
                    said == self._config.answers_as
                    or is_same_model(served_name, said, self._served.get(endpoint))
                ),
                clean=client.clean,
            )
        except Refused as refused:
            instead = generation_of(refused)
            if instead is None:
                raise refusal(endpoint, refused, served_name, self._config) from None
            if instead.finish == "context_limit":
                self.context_tokens = context_tokens_in(refused.message) or self.context_tokens
            return instead
        except Fault as fault:
            self._num_wrong[endpoint] += fault.kind == "model"
            if self._num_wrong[endpoint] >= _WRONG_AT_FIRST and not self._num_right[endpoint]:
                raise never_right(endpoint, fault, served_name) from None
            raise
        self._num_right[endpoint] += 1
        return reply

    def _body(
        self, request: GenerationRequest, params: SamplingParams, served_name: str
    ) -> dict[str, Any]:
        messages = [m.as_dict() for m in request.messages]
        extra = dict(self._config.extra_body)
        if request.prefill:
            messages.append({"role": "assistant", "content": request.prefill})
            extra |= {"continue_final_message": True, "add_generation_prompt": False}
        return {
            "model": served_name,
            "messages": messages,
            self._config.max_tokens_field: params.max_new_tokens,
            "temperature": params.temperature,
            "top_p": params.top_p,
            "seed": stream_seed(params.seed, request.key) % 2**SEED_BITS,
            **extra,
        }

    def _served_name(self, adapter: str | None) -> str:
        if adapter is None:
            return self.name
        if adapter not in self._adapters:
            raise ModelError(
                f"no adapter {adapter!r} is served (known: {', '.join(self._adapters) or 'none'})"
            )
        return self._adapters[adapter]

    async def _check_model(self, served_name: str) -> None:
        """Look the model up in every server's list, where there is one.

        Raises:
            GenerationError: a server lists models, and this is not among them.
        """
        if not self._config.check_model:
            return
        for endpoint, client in self._clients.items():
            if endpoint not in self._served and not endpoint.is_open:
                try:
                    self._served[endpoint] = await client.list_models()
                    endpoint.has_answered |= self._served[endpoint] is not None
                except Fault as fault:
                    endpoint.open(fault, time.monotonic())
            served = self._served.get(endpoint)
            if served and not any(is_same_model(served_name, n, served) for n in served):
                raise GenerationError(
                    f"{endpoint.url}: {not_served(served_name, served)}: name a model that it "
                    "serves, or set server.check_model to false if its list is not complete"
                )


def _in_line(requests: Sequence[GenerationRequest]) -> Iterable[list[Job]]:
    """Yield the groups as they come, the requests of each by the length of their prompts."""
    groups: dict[str, list[int]] = {}
    for index, request in enumerate(requests):
        groups.setdefault(request.group or f"\x00{request.key}", []).append(index)
    order = 0
    for name, indices in groups.items():
        lengths = {i: sum(len(m.content) for m in requests[i].messages) for i in indices}
        jobs = []
        for index in sorted(indices, key=lengths.__getitem__):
            jobs.append(Job(order, index, requests[index].key, name))
            order += 1
        yield jobs


def _end(loop: LoopThread, clients: Sequence[Client]) -> None:
    async def close() -> None:
        # One that cannot be closed keeps no other from it.
        await asyncio.gather(*(client.close() for client in clients), return_exceptions=True)

    loop.end(close())
