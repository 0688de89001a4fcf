"""Kills a run at random moments until it is done, and compares what is left with a run left alone.

    python -m tests.support.runs.killed_runs --folder F --engine scripted|local --kills 50

A process of its own, because it forks: the interpreter and the model are there at once in every
child. Prints one JSON line on what happened; ends with status 1 where a file differs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from data_synth import pipeline
from data_synth.config import SynthConfig
from data_synth.filters.config import QualityConfig
from data_synth.pipeline import run_synth
from data_synth.run_folder import SAMPLES_FILE
from gatt.generation.base import (
    Engine,
    Generation,
    GenerationRequest,
    SamplingConfig,
    SamplingParams,
)
from gatt.runs.store import RecordStore
from tests.support.runs.stages import RecordingEngine
from tests.support.runs.synth_runs import synth_config, varied_reply


class Paused:
    """An engine that takes its time, and whose replies count as whole however they ended."""

    def __init__(self, engine: Engine, seconds: float) -> None:
        self.engine = engine
        self.seconds = seconds

    def generate(
        self,
        requests: Sequence[GenerationRequest],
        params: SamplingParams,
        adapter: str | None = None,
    ) -> list[Generation]:
        """Return the replies of the engine, none of them cut or empty."""
        time.sleep(self.seconds)
        found = self.engine.generate(requests, params, adapter)
        return [replace(g, finish="stop", text=f"{g.text} said {r.key}")
                for g, r in zip(found, requests, strict=True)]  # fmt: skip


def killed_runs(folder: Path, *words: str) -> dict[str, Any]:
    """Start this file as a process and return what it found.

    Raises:
        AssertionError: a file differs, or a run failed.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.runs.killed_runs", "--folder", str(folder), *words],
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise AssertionError(done.stderr[-4000:])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def make_engine(kind: str) -> Engine:
    """Return the scripted engine, or a random two-layer model behind the local one."""
    if kind == "scripted":
        return Paused(RecordingEngine(varied_reply), 0.002)
    import torch

    # A pool of threads would not survive the fork.
    torch.set_num_threads(1)
    from gatt.generation.local.engine import TransformersEngine
    from gatt.models.load import LoadedModel
    from tests.support.models.tiny import tiny_llama, tiny_tokenizer

    tokenizer = tiny_tokenizer()
    model = LoadedModel(tiny_llama(tokenizer, max_position_embeddings=2048), tokenizer, "tiny")
    return Paused(TransformersEngine(model, max_rows=16), 0.0)


def make_config(folder: Path, kind: str) -> SynthConfig:
    """Return a run whose rows hold what the engine said, word for word."""
    config = synth_config(folder, num_samples=18 if kind == "scripted" else 12, plain_fraction=0.5)
    free = QualityConfig(
        degenerate=False, repeated_share=None, clipped=False, mentions_instruction=False,
        repeats_prompt=False, near_duplicate=None,
    )  # fmt: skip
    teacher = replace(config.teacher, quality=free, sampling=SamplingConfig(max_new_tokens=12))
    return replace(config, teacher=teacher)


def left_behind(config: SynthConfig) -> str:
    """Return in which state a killed run left its file."""
    path = config.output_dir / SAMPLES_FILE
    data = path.read_bytes() if path.exists() else b""
    if data and not data.endswith(b"\n"):
        return "torn line"
    return "part of a batch" if data.count(b"\n") % config.batch_samples else "whole batches"


def kill_until_done(args: argparse.Namespace) -> Mapping[str, Any]:
    """Kill children until there were enough kills, and compare every finished run."""
    engine = make_engine(args.engine)
    config = make_config(args.folder, args.engine)
    started = time.monotonic()
    run_synth(replace(config, output_dir=args.folder / "alone"), lambda: engine)
    seconds = time.monotonic() - started
    expected = (args.folder / "alone" / SAMPLES_FILE).read_bytes()
    rng = random.Random(args.seed)
    states: Counter[str] = Counter()
    num_kills = num_finished = num_kills_here = 0
    finished_after = []
    while num_kills < args.kills or num_kills_here:
        config = replace(config, output_dir=args.folder / f"killed-{num_finished}")
        pid = os.fork()
        if not pid:
            run_synth(config, lambda: engine)
            os._exit(0)
        if num_kills < args.kills:
            time.sleep(rng.uniform(0, seconds * args.window))
            os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        if os.WIFSIGNALED(status):
            num_kills += 1
            num_kills_here += 1
            states[left_behind(config)] += 1
            continue
        if status:
            raise SystemExit(f"a run ended with status {os.waitstatus_to_exitcode(status)}")
        if (config.output_dir / SAMPLES_FILE).read_bytes() != expected:
            raise SystemExit(f"{config.output_dir}: differs from the run that was left alone")
        finished_after.append(num_kills_here)
        num_finished, num_kills_here = num_finished + 1, 0
    return {
        "kills": num_kills, "finished_after_kills": finished_after, "left": dict(states),
        "seconds_alone": round(seconds, 3), "num_bytes": len(expected),
    }  # fmt: skip


def main() -> None:
    """Read the command line and print the outcome."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--engine", choices=("scripted", "local"), default="scripted")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--window", type=float, default=0.4)
    parser.add_argument("--pause", type=float, default=0.001, help="seconds behind every row")
    args = parser.parse_args()
    pipeline.provenance = lambda: {"commit": None}  # type: ignore[assignment]
    append = RecordStore.append

    def append_slowly(store: RecordStore, record: Mapping[str, Any]) -> None:
        append(store, record)
        # So that kills fall between the rows of a batch as well.
        time.sleep(args.pause)

    RecordStore.append = append_slowly  # type: ignore[method-assign]
    sys.stdout.write(json.dumps(kill_until_done(args)) + "\n")


if __name__ == "__main__":
    main()
