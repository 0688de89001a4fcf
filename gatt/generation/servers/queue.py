"""Who waits for which endpoint, in which order."""

from __future__ import annotations

import heapq
from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from gatt.generation.servers.endpoint import Endpoint

_MAX_HOMES: Final = 100_000
"""Groups whose endpoint is remembered."""


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
    num_wrong: int = field(default=0, compare=False)
    """Answers to it that were none."""
    num_of_prompt: int = field(default=0, compare=False)
    """Of these such that came while the server answered something else."""


class Homes:
    """Which endpoint has which group; from call to call, so that its cache is used again."""

    def __init__(self) -> None:
        self._homes: OrderedDict[str, Endpoint] = OrderedDict()

    def get(self, group: str) -> Endpoint | None:
        """Return the endpoint of a group, if it was ever sent to one."""
        return self._homes.get(group)

    def settle(self, group: str, endpoint: Endpoint) -> None:
        """Remember where a group is; the ones settled longest ago are forgotten."""
        self._homes[group] = endpoint
        self._homes.move_to_end(group)
        if len(self._homes) > _MAX_HOMES:
            self._homes.popitem(last=False)


class Line:
    """The jobs of one call that are not under way.

    Groups go out one after the other, each in the order of its jobs, and stay
    with one endpoint, so that what their prompts share is in that server's
    cache. What an endpoint that may not be asked has waiting goes to the others.

    Args:
        endpoints: at least one.
        homes: where groups were in earlier calls.
        groups: jobs that belong together, in the order in which they should go.
    """

    def __init__(
        self, endpoints: Sequence[Endpoint], homes: Homes, groups: Iterable[Sequence[Job]]
    ) -> None:
        self._homes = homes
        self._first = endpoints[0]
        self._queues: dict[Endpoint, list[Job]] = {e: [] for e in endpoints}
        self._groups: deque[Sequence[Job]] = deque()
        self._later: list[tuple[float, Job]] = []
        self.num_jobs = 0
        """Of the whole call."""
        for group in groups:
            self.num_jobs += len(group)
            home = homes.get(group[0].group)
            if home:
                self._queues[home] += group
            else:
                self._groups.append(group)
        for queue in self._queues.values():
            heapq.heapify(queue)

    def next_time(self) -> float | None:
        """Return when the next of those that wait for a second try may go."""
        return self._later[0][0] if self._later else None

    def put_back(self, job: Job, at: float) -> None:
        """Have a job tried again, not before a time."""
        heapq.heappush(self._later, (at, job))

    def take(self, endpoint: Endpoint, now: float) -> Job | None:
        """Return the next job for an endpoint, None where nothing waits for it."""
        while self._later and self._later[0][0] <= now:
            job = heapq.heappop(self._later)[1]
            heapq.heappush(self._queues[self._homes.get(job.group) or self._first], job)
        if queue := self._queues[endpoint]:
            return heapq.heappop(queue)
        if self._groups:
            return self._move_in(endpoint, self._groups.popleft())
        for other, queue in self._queues.items():
            if queue and not other.is_usable(now):
                group = queue[0].group
                moved = [job for job in queue if job.group == group]
                queue[:] = [job for job in queue if job.group != group]
                heapq.heapify(queue)
                return self._move_in(endpoint, moved)
        return None

    def _move_in(self, endpoint: Endpoint, jobs: Sequence[Job]) -> Job:
        self._homes.settle(jobs[0].group, endpoint)
        queue = self._queues[endpoint]
        for job in jobs:
            heapq.heappush(queue, job)
        return heapq.heappop(queue)
