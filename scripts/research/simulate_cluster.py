"""How many workers of Ray one planning process can serve: a simulation, and its table in docs/scaling.md.

    python scripts/research/simulate_cluster.py --json results/pipeline/cluster.json --write docs/scaling.md

The pool is the real one (`gatt.generation.cluster.pool`); Ray and the clock are simulated. How long a piece
takes is drawn from measured batches, with replacement; what the planning process spends on it was measured by
`bench_planner.py`. Workers die at random, and their piece is made again. Beginning and end of a run are
simulated too: the last pieces leave workers idle, by about one piece in `PIECES_A_WORKER`.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import logging
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmark.apart import write_report
from published.rates import RESULTS, table
from scaling_costs import MODELS, RANDOM_1B, measured, number, operations, put_into, shape_of

from gatt.generation.cluster.pool import _Pool
from gatt.stages.plan import DRAWS

BEGIN = "<!-- table: python scripts/research/simulate_cluster.py --write docs/scaling.md -->\n"
END = "<!-- end of table -->\n"
PIECES_A_WORKER = 20
TURNS = 20


@dataclass(frozen=True)
class Planner:
    """Seconds of the planning process for a piece."""

    send: float
    """Planning and pickling it."""
    receive: float
    """Unpickling its rows."""
    write: float
    ray: float
    """Ray's own part, of which half falls on sending."""

    @classmethod
    def of(cls, found: Mapping[str, Any], targets: int, ray_seconds: float) -> Planner:
        """Return what `bench_planner.py` measured, for pieces of so many targets."""
        names = ("plan_and_send_ms_a_target", "receive_ms_a_target", "write_ms_a_target")
        return cls(*(found[name] * targets / 1000 for name in names), ray=ray_seconds)

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.send + self.receive + self.write + self.ray


@dataclass(frozen=True)
class Setting:
    """One simulated run."""

    name: str
    seconds: Sequence[float]
    """Of measured batches, each one draw for every turn of `samples` samples."""
    samples: int
    """Of a piece."""
    draws: int

    def piece(self, rng: random.Random) -> float:
        """Return how long a worker works on a piece."""
        return sum(rng.choice(self.seconds) for _ in range(self.draws))

    @property
    def targets(self) -> int:
        """Of a piece."""
        return self.samples * TURNS


@dataclass
class Cluster:
    """A Ray of so many workers with a clock of its own, as far as the pool uses it."""

    setting: Setting
    planner: Planner
    rng: random.Random
    death_seconds: float
    """Mean time until a worker dies."""
    load_seconds: float
    """Until a worker that replaces a dead one works."""
    now: float = 0.0
    busy: float = 0.0
    """Seconds in which the planning process worked."""
    worked: float = 0.0
    """Seconds in which workers worked, on pieces that were finished."""
    num_deaths: int = 0
    _coming: list[tuple[float, int, bool]] = field(default_factory=list)
    """When each promise is ready, its number, and whether the worker dies of it."""
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _has_begun: bool = False

    exceptions = SimpleNamespace(
        RayTaskError=type("RayTaskError", (Exception,), {}), RayError=OSError
    )

    def spend(self, seconds: float) -> None:
        """Let the planning process work."""
        self.now += seconds
        self.busy += seconds

    def new_actor(self) -> Any:
        """Return a worker with the two methods that the pool calls."""
        return SimpleNamespace(
            start=SimpleNamespace(remote=self._start), work=SimpleNamespace(remote=self._work)
        )

    def _start(self) -> tuple[float, int, bool]:
        return self._promised(self.load_seconds if self._has_begun else 0.0)

    def _work(self, _: int) -> tuple[float, int, bool]:
        self._has_begun = True
        self.spend(self.planner.send + self.planner.ray / 2)
        seconds, life = self.setting.piece(self.rng), self.rng.expovariate(1 / self.death_seconds)
        if life < seconds:
            self.num_deaths += 1
            return self._promised(life, dies=True)
        self.worked += seconds
        return self._promised(seconds)

    def _promised(self, seconds: float, *, dies: bool = False) -> tuple[float, int, bool]:
        promise = (self.now + seconds, next(self._numbers), dies)
        heapq.heappush(self._coming, promise)
        return promise

    def wait(self, _: Any, timeout: float) -> tuple[list[tuple[float, int, bool]], list[Any]]:  # noqa: ARG002
        """Return the first promise that is ready, once it is."""
        promise = heapq.heappop(self._coming)
        self.now = max(self.now, promise[0])
        self.spend(self.planner.ray / 2)
        return [promise], []

    def get(self, promise: tuple[float, int, bool]) -> None:
        """Receive rows; raises where the worker has died."""
        if promise[2]:
            raise self.exceptions.RayError("the node died")
        self.spend(self.planner.receive)

    def kill(self, actor: Any) -> None:
        """End a worker: nothing to do."""


def simulated(
    setting: Setting, planner: Planner, workers: int, args: argparse.Namespace
) -> dict[str, Any]:
    """Return how busy the workers and the planning process of a run were."""
    cluster = Cluster(
        setting, planner, random.Random(args.seed), args.death_hours * 3600, args.load_seconds
    )
    pool: _Pool[int, None] = _Pool(cluster, cluster.new_actor, workers)
    num_pieces = PIECES_A_WORKER * workers
    for _ in pool.work(range(num_pieces)):
        cluster.spend(planner.write)
    return {
        "setting": setting.name,
        "workers": workers,
        "workers_busy": cluster.worked / cluster.now / workers,
        "planner_busy": cluster.busy / cluster.now,
        "targets_a_second": num_pieces * setting.targets / cluster.now,
        "deaths": cluster.num_deaths,
        "most_workers": setting.draws
        * sum(setting.seconds)
        / len(setting.seconds)
        / planner.seconds,
    }


def settings() -> list[Setting]:
    """Return the runs that are simulated, from what stands in results/."""
    rolled, turns = (
        json.loads((RESULTS / name).read_text(encoding="utf-8"))
        for name in ("gpu/rollout.json", "sampling/turns_20.json")
    )
    of_gpu, samples = rolled["rollout_seconds"]["engine"], rolled["rollout_dialogues"]
    found, exchange_tokens = measured()
    small, large = (
        operations(found.comb(exchange_tokens), shape_of(config))
        for config in (RANDOM_1B, MODELS["7B"])
    )
    times = (large.prefill + large.decode) / (small.prefill + small.decode)
    draws = round(DRAWS)
    # A piece of the embedded model is one sample: pieces of 12 are as long for each of them.
    return [
        Setting("135M on two cores", turns["sampling_seconds"]["engine"], 1, draws),
        Setting("1B on an H100", of_gpu, samples, draws),
        Setting(f"7B on an H100, {times:.1f} times as long by its operations",
                [times * seconds for seconds in of_gpu], samples, draws),
    ]  # fmt: skip


def lines(found: Sequence[Mapping[str, Any]], args: argparse.Namespace) -> str:
    """Return the table and what follows from it."""
    rows = [
        [
            row["setting"] if row["workers"] == args.workers[0] else "", f"{row['workers']:,}",
            f"{row['workers_busy']:.0%}", f"{row['planner_busy']:.0%}",
            number(row["targets_a_second"]), str(row["deaths"]),
        ]
        for row in found
    ]  # fmt: skip
    head = ["each worker", "workers", "workers busy", "planner busy", "targets a second", "deaths"]
    limits = {row["setting"].partition(",")[0]: row["most_workers"] for row in found}
    told = "; ".join(f"{number(most)} with {name}" for name, most in limits.items())
    return "\n".join(
        [
            table(head, rows),
            f"One process is the limit from about so many workers on: {told}.",
        ]
    )


def main() -> None:
    """Simulate all settings, print, and write what is asked for."""
    args = arguments()
    logging.disable(logging.WARNING)
    costs = json.loads((RESULTS / "pipeline" / "planner.json").read_text(encoding="utf-8"))
    found = [
        simulated(one, Planner.of(costs, one.targets, args.ray_ms / 1000), workers, args)
        for one in settings()
        for workers in args.workers
    ]
    text = lines(found, args)
    print(text)
    write_report(args, {"runs": found})
    if args.write:
        put_into(args.write, text, BEGIN, END)


def arguments() -> argparse.Namespace:
    """Return the words of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, nargs="+", default=[64, 128, 256, 512, 1024])
    parser.add_argument("--death-hours", type=float, default=24, help="a worker lives (mean)")
    parser.add_argument("--load-seconds", type=float, default=60, help="of a new worker")
    parser.add_argument("--ray-ms", type=float, default=1, help="of Ray itself a piece (assumed)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into this page")
    return parser.parse_args()


if __name__ == "__main__":
    main()
