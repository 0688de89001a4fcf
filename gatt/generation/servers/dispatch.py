"""Has every request answered: as many at a time as the endpoints take, faults tried again."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

from gatt.generation.base import Generation
from gatt.generation.servers.config import ServerConfig
from gatt.generation.servers.endpoint import Endpoint, Ticket
from gatt.generation.servers.error_messages import given_up, gone, progress
from gatt.generation.servers.faults import Fault
from gatt.generation.servers.queue import Homes, Job, Line

WRONG_BEFORE_CANARY: Final = 2
"""Wrong answers to a prompt before the server is asked for something that it has answered."""

Attempt = Callable[[Endpoint, Job], Awaitable[Generation]]
OnReply = Callable[[Job, Generation], None]
Canary = Callable[[Endpoint], Awaitable[Generation]]

log = logging.getLogger(__name__)


class Dispatcher:
    """Brings jobs to endpoints and keeps what is learned of these from call to call.

    Args:
        endpoints: at least one.
        config: limits and pauses.
    """

    def __init__(self, endpoints: Sequence[Endpoint], config: ServerConfig) -> None:
        self.faults: Counter[str] = Counter()
        """Faults so far, by kind."""
        self.unanswered: list[str] = []
        """Keys of the requests that went without a reply."""
        self.canary: Canary | None = None
        """Asks an endpoint for a reply that was had before: whether it is the prompt or the server."""
        self.endpoints = endpoints
        self.config = config
        self._homes = Homes()

    async def run(
        self, groups: Iterable[Sequence[Job]], attempt: Attempt, on_reply: OnReply
    ) -> None:
        """Have every job answered.

        Args:
            groups: jobs that belong together, in the order in which they should go.
            attempt: asks an endpoint once; raises `Fault` for what may heal.
            on_reply: told of each reply once, as it comes.

        Raises:
            GenerationError: what `attempt` raises; a request that fails again and
                again; or no endpoint that answers.
        """
        line = Line(self.endpoints, self._homes, groups)
        await _Run(self, line, attempt, on_reply).finish()


class _Run:
    """One call: what is under way, and what came of it."""

    def __init__(self, known: Dispatcher, line: Line, attempt: Attempt, on_reply: OnReply) -> None:
        self._known = known
        self._endpoints = known.endpoints
        self._config = known.config
        self._line = line
        self._attempt = attempt
        self._on_reply = on_reply
        self._outcomes: asyncio.Queue[tuple[Job, Generation | Exception]] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._under_way: dict[int, tuple[Endpoint, Ticket]] = {}
        self._num_replies = 0
        self._last_reply = self._last_told = time.monotonic()
        self._num_failed = 0
        """Faults in a row of servers that are gone or broken, since anything else came from any."""
        self._failing_since = 0.0
        """When the first of them came."""

    async def finish(self) -> None:
        try:
            while self._num_replies < self._line.num_jobs:
                self._start_what_may(time.monotonic())
                await self._wait()
                while not self._outcomes.empty():
                    self._note(*self._outcomes.get_nowait())
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for endpoint, ticket in self._under_way.values():
                endpoint.abandon(ticket)

    def _start_what_may(self, now: float) -> None:
        while sum(e.num_in_flight for e in self._endpoints) < self._config.max_concurrency:
            free = sorted((e for e in self._endpoints if e.has_room(now)), key=lambda e: e.load)
            found = next(((e, j) for e in free if (j := self._line.take(e, now))), None)
            if found is None:
                return
            endpoint, job = found
            self._under_way[job.index] = (endpoint, endpoint.begin(now))
            task = asyncio.create_task(self._ask(job, endpoint))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _ask(self, job: Job, endpoint: Endpoint) -> None:
        try:
            outcome: Generation | Exception = await self._attempt(endpoint, job)
        except Fault as fault:
            outcome = fault
            fault.is_of_prompt = await self._is_of_prompt(endpoint, job, fault)
        except Exception as error:
            outcome = error
        self._outcomes.put_nowait((job, outcome))

    async def _is_of_prompt(self, endpoint: Endpoint, job: Job, fault: Fault) -> bool:
        """Whether a fault is put down to what was asked: the endpoint still answers something else."""
        if not self._config.max_unanswered or fault.kind not in ("status", "reply", "size"):
            return False
        job.num_wrong += 1
        is_early = job.num_wrong < min(WRONG_BEFORE_CANARY, self._config.max_retries + 1)
        if is_early or self._known.canary is None:
            return False
        try:
            await self._known.canary(endpoint)
        except Exception:
            # What it is, the next try of a request will say.
            return False
        return True

    async def _wait(self) -> None:
        """Return when there is an outcome, or when time has made something possible."""
        now = time.monotonic()
        times = [self._line.next_time(), *(e.next_time(now) for e in self._endpoints)]
        first = min((t for t in times if t is not None), default=None)
        try:
            async with asyncio.timeout(None if first is None else max(first - now, 0.0)):
                self._outcomes.put_nowait(await self._outcomes.get())
        except TimeoutError:
            return

    def _note(self, job: Job, outcome: Generation | Exception) -> None:
        now = time.monotonic()
        endpoint, ticket = self._under_way.pop(job.index)
        if isinstance(outcome, Generation):
            endpoint.succeed(ticket)
            self._last_reply = self._last_told = now
            self._num_failed = 0
            if outcome.finish in ("stop", "length"):
                self._known.canary = lambda endpoint: self._attempt(endpoint, job)
            self._settle(job, outcome)
        elif isinstance(outcome, Fault):
            was_open = endpoint.is_open
            endpoint.fail(ticket, outcome, now)
            self._known.faults[outcome.kind] += 1
            self._count(outcome, now)
            if outcome.is_of_prompt:
                job.num_of_prompt += 1
            elif was_open or outcome.kind == "rate_limit":
                job.num_excused += 1
            else:
                job.num_faults += 1
            if outcome.is_of_prompt and job.num_of_prompt >= self._config.max_retries:
                self._let_go(job, endpoint, outcome)
            elif job.num_faults > self._config.max_retries:
                raise given_up(endpoint, job, outcome, self._progress())
            else:
                self._try_later(job, now)
            self._stop_if_gone(now)
        else:
            endpoint.abandon(ticket)
            raise outcome

    def _settle(self, job: Job, generation: Generation) -> None:
        self._num_replies += 1
        self._on_reply(job, generation)

    def _count(self, fault: Fault, now: float) -> None:
        """Note how long nobody has been there, or, now and then, that somebody is who says no."""
        if fault.is_outage:
            if not self._num_failed:
                self._failing_since = now
            self._num_failed += 1
            return
        self._num_failed = 0
        if now - self._last_told >= self._config.patience_seconds:
            self._last_told = now
            log.warning("no reply for %.0f s, waiting on: %s", now - self._last_reply, fault.what)

    def _let_go(self, job: Job, endpoint: Endpoint, fault: Fault) -> None:
        if len(self._known.unanswered) >= self._config.max_unanswered:
            raise given_up(endpoint, job, fault, self._progress())
        self._known.unanswered.append(job.key)
        log.warning(
            "%s: request %r goes without a reply after %d tries (%d of server.max_unanswered=%d), the "
            "last time: %s", endpoint.url, job.key, job.num_wrong, len(self._known.unanswered),
            self._config.max_unanswered, fault.what,
        )  # fmt: skip
        self._settle(job, Generation("", "unanswered", 0))

    def _try_later(self, job: Job, now: float) -> None:
        num = min(job.num_faults + job.num_excused + job.num_of_prompt, 30)
        longest = min(self._config.backoff_seconds * 2 ** (num - 1), self._config.max_wait_seconds)
        # Full jitter: those that failed together must not come again together.
        self._line.put_back(job, now + random.uniform(0, longest))

    def _stop_if_gone(self, now: float) -> None:
        """Raise if every endpoint is gone: at once where none can be reached, else after the patience.

        The patience begins with the first fault, not with the last reply: a
        request that hangs is itself longer without one than most patience, and has
        its further tries first, as has everything else.
        """
        if not all(e.is_open and e.num_failed_probes for e in self._endpoints):
            return
        # What was sent before a circuit opened may still be answered; a probe is only a try.
        if any(not ticket.is_probe for _, ticket in self._under_way.values()):
            return
        if not any(e.has_answered or e.is_reached for e in self._endpoints):
            raise gone(self._endpoints, None, self._progress())
        is_tried = self._num_failed > self._config.max_retries
        if is_tried and now - self._failing_since >= self._config.patience_seconds:
            raise gone(self._endpoints, now - self._last_reply, self._progress())

    def _progress(self) -> str:
        return progress(self._num_replies, self._line.num_jobs)
