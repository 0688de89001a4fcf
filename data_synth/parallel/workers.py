"""`gatt synth --workers N`: a process of its own for each shard, one bar, one result."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from data_synth.config import SynthConfig
from data_synth.parallel.merge import merge_shards
from data_synth.pipeline import RUN_FILES, SynthResult, run_synth
from data_synth.shards.shard import WHOLE, Shard, refuse_foreign, refuse_mixture
from gatt.config.load import save_config
from gatt.errors import ConfigError, GenerationError
from gatt.runs.progress import Bar, progress_bar

log = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.2
STOP_SECONDS: Final = 20.0
"""Time for a worker to end by itself before it is killed."""

Command = Callable[[Path, Shard], Sequence[str]]
"""Makes the words that start a worker, from a configuration file and its shard."""


def worker_command(config: Path, shard: Shard) -> list[str]:
    """Return the words that start a worker in a fresh interpreter."""
    return [
        sys.executable, "-m", "data_synth.parallel.worker", "--config", str(config), "--shard", str(shard),
    ]  # fmt: skip


def run_workers(
    config: SynthConfig, num_workers: int, command: Command = worker_command
) -> SynthResult:
    """Make the samples of a configuration with several processes, and join them.

    The error of one worker ends all of them. Where one is killed, the others
    finish their shards. Whatever ends the run, the next one goes on.

    Args:
        config: the whole of it.
        num_workers: processes; a folder that was begun with another number is refused.
        command: starts a worker.

    Raises:
        ConfigError: less than one worker, or those of a Ray cluster are asked for as well.
        GenerationError: what a worker said, with its shard; or that it was killed.
        StoreError: the folder holds work that is divided in another way.
    """
    if num_workers < 1:
        raise ConfigError(f"--workers is {num_workers}: expected at least 1")
    if config.ray is not None:
        raise ConfigError(
            "--workers with ray: expected one of them: ray.num_workers says how many a cluster has"
        )
    whole = WHOLE.path(config.output_dir)
    if num_workers == 1 or whole.exists():
        if num_workers > 1 and _Lines(whole).advance() < config.num_samples:
            log.warning("%s: was begun by one process, and one goes on with it", whole)
        return run_synth(config)
    shards = [Shard(number, num_workers) for number in range(1, num_workers + 1)]
    refuse_foreign(config.output_dir, RUN_FILES)
    refuse_mixture(config.output_dir, shards[0])
    lines = [_Lines(shard.path(config.output_dir)) for shard in shards]
    num_before = sum(some.advance() for some in lines)
    with tempfile.TemporaryDirectory(prefix="gatt-synth-") as name:
        folder = Path(name)
        save_config(config, folder / "config.yaml")
        workers: list[_Worker] = []
        try:
            for shard, env in zip(shards, environments(config, num_workers), strict=True):
                words = command(folder / "config.yaml", shard)
                workers.append(_start(shard, words, env, folder))
            with progress_bar("synth", config.num_samples, unit="samples", done=num_before) as bar:
                while any(worker.process.poll() is None for worker in workers):
                    _refuse_failed(workers)
                    time.sleep(POLL_SECONDS)
                    _tell(bar, lines)
                # What came between the last look and the end of the last worker.
                _tell(bar, lines)
        finally:
            _stop(workers)
            _pass_on(workers)
        _refuse_failed(workers)
        _refuse_killed(workers)
    result = merge_shards(config.output_dir)
    return replace(result, num_new=result.num_samples - num_before)


def _tell(bar: Bar, lines: Sequence[_Lines]) -> None:
    """Tell the bar of new lines; told of none, a complete one would say again that it is."""
    if num_new := sum(some.advance() for some in lines):
        bar.advance(num_new)


def environments(config: SynthConfig, num_workers: int) -> list[dict[str, str]]:
    """Return the environment of each worker: a share of the processors, and a GPU in turn.

    What the user has set stays: `OMP_NUM_THREADS` as it is, and the GPUs are
    those of `CUDA_VISIBLE_DEVICES`.
    """
    num_cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    threads = {"OMP_NUM_THREADS": str(max(1, (num_cpus or 1) // num_workers))}
    engine = config.teacher.engine
    gpus = _gpus() if engine.server is None and engine.device in ("auto", "cuda") else []
    found = []
    for number in range(num_workers):
        env = threads | dict(os.environ)
        if gpus:
            env["CUDA_VISIBLE_DEVICES"] = gpus[number % len(gpus)]
        found.append(env)
    return found


def _gpus() -> list[str]:
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [name for name in named.split(",") if name]
    if not any(Path("/dev").glob("nvidia[0-9]*")):
        # Importing torch takes seconds, so only where there may be something to find.
        return []
    import torch

    return [str(number) for number in range(torch.cuda.device_count())]


@dataclass(frozen=True)
class _Worker:
    """A process and where it speaks to."""

    shard: Shard
    process: subprocess.Popen[bytes]
    said: Path

    def lines(self) -> list[str]:
        """Return what it has said so far; no blank lines."""
        text = self.said.read_text(encoding="utf-8", errors="replace")
        return [line for line in text.splitlines() if line.strip()]


def _start(shard: Shard, words: Sequence[str], env: Mapping[str, str], folder: Path) -> _Worker:
    said = folder / f"worker-{shard.number}.log"
    with said.open("wb") as stream:
        # A session of its own: Ctrl-C reaches us alone, and we stop every worker once. A worker
        # ends with its input, and that ends with us, however we end.
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=stream,
            env=env,
            start_new_session=True,
        )
    return _Worker(shard, process, said)


def _refuse_failed(workers: Sequence[_Worker]) -> None:
    for worker in workers:
        code = worker.process.poll()
        if code is None or code <= 0:
            continue
        said = worker.lines()
        told = [line.removeprefix("gatt: ") for line in said if line.startswith("gatt: ")]
        problem = (told or said or [f"ended with status {code}"])[-1]
        raise GenerationError(f"worker of shard {worker.shard}: {problem}")


def _refuse_killed(workers: Sequence[_Worker]) -> None:
    killed = [w for w in workers if w.process.returncode < 0]
    if killed:
        names = ", ".join(f"{w.shard} (signal {-w.process.returncode})" for w in killed)
        raise GenerationError(
            f"killed: worker of shard {names}: what was written stays and the other shards are "
            "complete: start the same command again"
        )


def _stop(workers: Sequence[_Worker]) -> None:
    """End those that still work; each closes its file first."""
    for worker in workers:
        if worker.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                worker.process.stdin.close()
    end = time.monotonic() + STOP_SECONDS
    for worker in workers:
        try:
            worker.process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            worker.process.kill()
            worker.process.wait()


def _pass_on(workers: Sequence[_Worker]) -> None:
    """Repeat the warnings of one worker: those of the others are the same."""
    for worker in workers[:1]:
        for line in worker.lines():
            if not line.startswith(("synth: ", "gatt: ")):
                sys.stderr.write(f"{line}\n")


class _Lines:
    """Counts the lines that a growing file gets."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def advance(self) -> int:
        """Return how many lines came since the last call."""
        num = 0
        with contextlib.suppress(FileNotFoundError), self._path.open("rb") as stream:
            stream.seek(self._offset)
            while part := stream.read(1 << 20):
                num += part.count(b"\n")
                self._offset += len(part)
        return num
