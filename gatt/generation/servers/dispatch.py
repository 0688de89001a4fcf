"""Who is asked what and when: prefixes together, nobody overrun, faults tried again.

Groups go out one after the other, each in the order of its prompts' lengths,
and a group stays with one endpoint, so that what its prompts share is in that
server's cache. What an endpoint that may not be asked has waiting goes to the
others.
"""

from __future__ import annotations

import asyncio
import heapq
import random
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from gatt.errors import GenerationError
from gatt.generation.base import Generation
from gatt.generation.servers.config import ServerConfig
from gatt.generation.servers.endpoint import Endpoint, Ticket
from gatt.generation.servers.faults import Fault

_MAX_HOMES: Final = 100_000
"""Groups whose endpoint is remembered."""
AGAIN: Final = "then run again: it goes on where it stopped"


@dataclass(order=True)
class Job:
    """One request on its way to a reply; jobs compare by their place in line."""

    order: int
    index: int = field(compare=False)
    key: str = field(compare=False)
    group: str = field(compare=False)
    num_faults: int = field(default=0, compare=False)
    num_excused: int = field(default=0, compare=False)
    """Faults that say nothing of the request: too many at a time, or a server that is gone."""


Attempt = Callable[[Endpoint, Job], Awaitable[Generation]]
Outcome = tuple[Job, Generation | Exception]


class Dispatcher:
    """Brings jobs to endpoints and keeps what is learned of these from call to call.

    Args:
        endpoints: at least one.
        config: limits and pauses.
        rng: draws the jitter.
    """

    def __init__(
        self, endpoints: Sequence[Endpoint], config: ServerConfig, rng: random.Random | None = None
    ) -> None:
        self.endpoints = endpoints
        self.faults: Counter[str] = Counter()
        """Faults so far, by kind."""
        self._config = config
        self._rng = rng or random.Random()
        self._homes: OrderedDict[str, Endpoint] = OrderedDict()

    async def run(
        self,
        groups: Iterable[Sequence[Job]],
        attempt: Attempt,
        on_reply: Callable[[Job, Generation], None],
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
        await _Run(self, self._config, self._rng, groups, attempt, on_reply).finish()

    def home(self, group: str) -> Endpoint | None:
        """Return the endpoint that has a group, if it was ever sent to one."""
        return self._homes.get(group)

    def settle(self, group: str, endpoint: Endpoint) -> None:
        """Remember where a group is."""
        self._homes[group] = endpoint
        self._homes.move_to_end(group)
        if len(self._homes) > _MAX_HOMES:
            self._homes.popitem(last=False)


class _Run:
    """One call: what waits, what is under way, and what came of it."""

    def __init__(
        self,
        parent: Dispatcher,
        config: ServerConfig,
        rng: random.Random,
        groups: Iterable[Sequence[Job]],
        attempt: Attempt,
        on_reply: Callable[[Job, Generation], None],
    ) -> None:
        self._parent = parent
        self._endpoints = parent.endpoints
        self._config = config
        self._rng = rng
        self._attempt = attempt
        self._on_reply = on_reply
        self._queues: dict[Endpoint, list[Job]] = {e: [] for e in self._endpoints}
        self._groups: deque[Sequence[Job]] = deque()
        self._later: list[tuple[float, Job]] = []
        self._outcomes: asyncio.Queue[Outcome] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._under_way: dict[int, tuple[Endpoint, Ticket]] = {}
        self._num_jobs = self._num_replies = 0
        self._last_reply = time.monotonic()
        for group in groups:
            self._num_jobs += len(group)
            home = parent.home(group[0].group)
            if home:
                self._queues[home] += group
            else:
                self._groups.append(group)
        for queue in self._queues.values():
            heapq.heapify(queue)

    async def finish(self) -> None:
        try:
            while self._num_replies < self._num_jobs:
                self._start_what_may(time.monotonic())
                outcome = await self._next_outcome()
                while outcome is not None:
                    self._note(*outcome)
                    outcome = None if self._outcomes.empty() else self._outcomes.get_nowait()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for endpoint, ticket in self._under_way.values():
                endpoint.abandon(ticket)

    def _start_what_may(self, now: float) -> None:
        while self._later and self._later[0][0] <= now:
            job = heapq.heappop(self._later)[1]
            heapq.heappush(self._queues[self._parent.home(job.group) or self._endpoints[0]], job)
        while sum(e.num_in_flight for e in self._endpoints) < self._config.max_concurrency:
            free = sorted((e for e in self._endpoints if e.has_room(now)), key=lambda e: e.load)
            chosen = next(((e, j) for e in free if (j := self._job_for(e, now))), None)
            if chosen is None:
                return
            endpoint, job = chosen
            self._under_way[job.index] = (endpoint, endpoint.begin(now))
            task = asyncio.create_task(self._ask(job, endpoint))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _job_for(self, endpoint: Endpoint, now: float) -> Job | None:
        if queue := self._queues[endpoint]:
            return heapq.heappop(queue)
        if self._groups:
            return self._take(endpoint, list(self._groups.popleft()))
        for other, queue in self._queues.items():
            if queue and not other.is_usable(now):
                group = queue[0].group
                moved = [job for job in queue if job.group == group]
                queue[:] = [job for job in queue if job.group != group]
                heapq.heapify(queue)
                return self._take(endpoint, moved)
        return None

    def _take(self, endpoint: Endpoint, jobs: list[Job]) -> Job:
        self._parent.settle(jobs[0].group, endpoint)
        queue = self._queues[endpoint]
        for job in jobs:
            heapq.heappush(queue, job)
        return heapq.heappop(queue)

    async def _ask(self, job: Job, endpoint: Endpoint) -> None:
        try:
            outcome: Generation | Exception = await self._attempt(endpoint, job)
        except Exception as error:
            outcome = error
        self._outcomes.put_nowait((job, outcome))

    async def _next_outcome(self) -> Outcome | None:
        """Return the next outcome; None where time makes something possible before."""
        now = time.monotonic()
        times = [t for e in self._endpoints if (t := e.next_time(now)) is not None]
        times += [self._later[0][0]] if self._later else []
        try:
            async with asyncio.timeout(max(min(times) - now, 0.0) if times else None):
                return await self._outcomes.get()
        except TimeoutError:
            return None

    def _note(self, job: Job, outcome: Generation | Exception) -> None:
        now = time.monotonic()
        endpoint, ticket = self._under_way.pop(job.index)
        if isinstance(outcome, Generation):
            endpoint.succeed(ticket)
            self._num_replies += 1
            self._last_reply = now
            self._on_reply(job, outcome)
        elif isinstance(outcome, Fault):
            was_open = endpoint.is_open
            endpoint.fail(ticket, outcome, now)
            self._parent.faults[outcome.kind] += 1
            self._try_later(job, endpoint, outcome, now, is_counted=not was_open)
        else:
            endpoint.abandon(ticket)
            raise outcome

    def _try_later(
        self, job: Job, endpoint: Endpoint, fault: Fault, now: float, *, is_counted: bool
    ) -> None:
        if is_counted and fault.kind != "rate_limit":
            job.num_faults += 1
            if job.num_faults > self._config.max_retries:
                raise self._given_up(job, endpoint, fault)
        else:
            job.num_excused += 1
        self._stop_if_gone(now)
        num = min(job.num_faults + job.num_excused, 30)
        longest = min(self._config.backoff_seconds * 2 ** (num - 1), self._config.max_wait_seconds)
        # Full jitter: those that failed together must not come again together.
        heapq.heappush(self._later, (now + self._rng.uniform(0, longest), job))

    def _stop_if_gone(self, now: float) -> None:
        """Raise if nobody answers: at once where nobody ever did, else after the patience."""
        if any(e.num_in_flight for e in self._endpoints):
            return
        is_patient = now - self._last_reply < self._config.patience_seconds
        never = all(
            e.is_open and e.num_failed_probes and not e.has_answered for e in self._endpoints
        )
        if is_patient and not never:
            return
        seen = "; ".join(
            f"{e.url}: {e.last_fault.what if e.last_fault else 'no request yet'}"
            for e in self._endpoints
        )
        what_to_do = "start the server or mend server.urls" if never else "look at the server's log"
        raise GenerationError(
            f"{seen}: {'no answer' if never else 'no reply for'}"
            f"{'' if never else f' {now - self._last_reply:.0f} s'} ({self._progress()}): "
            f"{what_to_do}, {AGAIN}"
        )

    def _given_up(self, job: Job, endpoint: Endpoint, fault: Fault) -> GenerationError:
        way_out = "look at the server's log or raise server.max_retries"
        if fault.kind == "timeout":
            way_out = "raise server.timeout_seconds or lower server.max_concurrency"
        elif fault.kind == "model":
            way_out = "name that model, or set server.answers_as if it is the same one"
        return GenerationError(
            f"{endpoint.url}: request {job.key!r} failed {job.num_faults} times, the last time: "
            f"{fault.what} ({self._progress()}): {way_out}, {AGAIN}"
        )

    def _progress(self) -> str:
        return f"{self._num_replies} of {self._num_jobs} replies of this call were had"
