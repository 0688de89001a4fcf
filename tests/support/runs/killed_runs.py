"""Kills a run at random moments until it is done, and compares what is left with a run left alone.

`python -m tests.support.runs.killed_runs FOLDER KIND KILLS` is a process of its own, because it forks: the
interpreter and the model are there at once in every child.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from data_synth import run_folder
from data_synth.pipeline import run_synth
from data_synth.quality import QualityConfig
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

AT_ONCE = 3
PAUSES_IN_A_RUN = 40
"""The pause after a row is this part of a run or longer: on a busy machine too, kills fall between the rows
of a batch."""


def killed_runs(folder: Path, kind: str, num_kills: int) -> dict[str, Any]:
    """Kill a run so many times, and return how many kills each run that got done took, and what they left.

    Args:
        folder: where all runs go.
        kind: of the engine, `scripted` or `local`.
        num_kills: of all runs.

    Raises:
        AssertionError: a file differs, or a run failed.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.runs.killed_runs", folder, kind, str(num_kills)],
        cwd=Path(__file__).resolve().parents[3], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


class Whole:
    """An engine whose replies count as whole however they ended; a scripted one takes its time."""

    def __init__(self, kind: str) -> None:
        self.pause = 0.002 if kind == "scripted" else 0.0
        self.engine: Engine = RecordingEngine(varied_reply)
        if kind == "local":
            import torch

            # A pool of threads would not survive the fork.
            torch.set_num_threads(1)
            from gatt.generation.local.engine import TransformersEngine
            from tests.support.models.engine_prompts import make_loaded
            from tests.support.models.tiny import tiny_tokenizer

            loaded = make_loaded(tiny_tokenizer(), max_position_embeddings=2048)
            self.engine = TransformersEngine(loaded, max_rows=16)

    def generate(
        self,
        requests: Sequence[GenerationRequest],
        params: SamplingParams,
        adapter: str | None = None,
    ) -> list[Generation]:
        """Return the replies of the engine, none of them cut or empty."""
        time.sleep(self.pause)
        found = self.engine.generate(requests, params, adapter)
        return [replace(g, finish="stop", text=f"{g.text} said {r.key}")
                for g, r in zip(found, requests, strict=True)]  # fmt: skip


def run_of(folder: Path, kind: str) -> Callable[[Path], object]:
    """Return the run that writes `samples.jsonl` into a folder; rows hold what was said, word for word."""
    engine = Whole(kind)
    num = 18 if kind == "scripted" else 12
    config = synth_config(folder, num_samples=num, plain_fraction=0.5, batch_samples=AT_ONCE)
    free = QualityConfig(
        degenerate=False, repeated_share=None, clipped=False, mentions_instruction=False,
        repeats_prompt=False, near_duplicate=None,
    )  # fmt: skip
    teacher = replace(config.teacher, quality=free, sampling=SamplingConfig(max_new_tokens=12))
    return lambda out: run_synth(replace(config, teacher=teacher, output_dir=out), lambda: engine)


def left_behind(file: Path) -> str:
    """Return in which state a killed run left its file."""
    data = file.read_bytes() if file.exists() else b""
    if data and not data.endswith(b"\n"):
        return "torn line"
    return "part of a batch" if data.count(b"\n") % AT_ONCE else "whole batches"


@dataclass
class Pause:
    """Seconds for which a row is waited on after it was written."""

    seconds: float


def kill_until_done(folder: Path, kind: str, num_kills: int, pause: Pause) -> Mapping[str, Any]:
    """Kill children until there were enough kills, and compare every finished run."""
    run = run_of(folder, kind)
    started = time.monotonic()
    run(folder / "alone")
    seconds = time.monotonic() - started
    pause.seconds = max(pause.seconds, seconds / PAUSES_IN_A_RUN)
    expected = (folder / "alone" / SAMPLES_FILE).read_bytes()
    rng = random.Random(0)
    states: Counter[str] = Counter()
    num_here = 0
    finished_after: list[int] = []
    while states.total() < num_kills or num_here:
        out = folder / f"killed-{len(finished_after)}"
        pid = os.fork()
        if not pid:
            run(out)
            os._exit(0)
        if states.total() < num_kills:
            time.sleep(rng.uniform(0, seconds * 0.4))
            os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        if os.WIFSIGNALED(status):
            num_here += 1
            states[left_behind(out / SAMPLES_FILE)] += 1
            continue
        assert status == 0, f"a run ended with status {os.waitstatus_to_exitcode(status)}"
        assert (out / SAMPLES_FILE).read_bytes() == expected, f"{out}: differs from the run alone"
        finished_after.append(num_here)
        num_here = 0
    return {"finished_after_kills": finished_after, "left": dict(states)}


def main() -> None:
    """Read the command line and print the outcome."""
    folder, kind, num_kills = sys.argv[1:]
    pause = Pause(0.001 if kind == "scripted" else 0.02)
    run_folder.provenance = lambda: {"commit": None}  # type: ignore[assignment]
    append = RecordStore.append

    def append_slowly(store: RecordStore, record: Mapping[str, Any]) -> None:
        append(store, record)
        # So that kills fall between the rows of a batch as well.
        time.sleep(pause.seconds)

    RecordStore.append = append_slowly  # type: ignore[method-assign]
    sys.stdout.write(json.dumps(kill_until_done(Path(folder), kind, int(num_kills), pause)) + "\n")


if __name__ == "__main__":
    main()
