"""What `gatt synth` costs beside the teacher, the verifiers and the filters: time and memory.

    python scripts/research/bench_pipeline.py --targets 10000 1000000 --json results/pipeline.json

Each size runs in a process of its own, with a scripted teacher on generated dialogues and the shipped
catalogue. Teacher, verifiers and filters are timed apart and taken off; every verdict is made a pass, so
that a target takes one draw. What is left is the plan, the requests, the rows, the store and the card.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmark.apart import measured_apart, write_report
from rich.console import Console
from rich.table import Table

from data_synth import pipeline, sampling
from data_synth.config import SynthConfig, TeacherConfig
from gatt.data.dialogue import Dialogue, Message
from gatt.generation.base import GenerationRequest
from gatt.generation.scripted import ScriptedEngine
from gatt.sources.config import SourceConfig
from gatt.verifiers import Verdict

TEXT = (
    "river harbor market valley station castle garden museum window letter winter summer bridge "
    "village mountain kitchen orchard lantern thunder blanket journey teacher painter sailor "
    "forest island morning evening pocket ladder marble copper silver meadow engine signal "
    "number corner"
)
WORDS = TEXT.split()


def sentence(*numbers: int) -> str:
    """Return nine words that differ with the numbers."""
    start = sum(number * factor for number, factor in zip(numbers, (7919, 104729), strict=False))
    picked = [WORDS[(start // 3 + start * (n + 1) + n * n) % len(WORDS)] for n in range(9)]
    return f"The {' '.join(picked)} was there."


class Stopwatch:
    """Seconds that were spent in some functions."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, timed."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds += time.perf_counter() - start

        return timed


def passing(check: Callable[..., tuple[Verdict, ...]]) -> Callable[..., tuple[Verdict, ...]]:
    """Return the check with every verdict made a pass."""

    def checked(*args: Any) -> tuple[Verdict, ...]:
        return tuple(replace(verdict, status="pass") for verdict in check(*args))

    return checked


def measure(num_targets: int, args: argparse.Namespace) -> dict[str, Any]:
    """Run one size in this process."""
    engine = ScriptedEngine(reply)
    verifiers, filters, teacher, plan = Stopwatch(), Stopwatch(), Stopwatch(), Stopwatch()
    patched: Any = sampling
    patched.check_all = verifiers.around(passing(patched.check_all))
    patched.refuse = filters.around(patched.refuse)
    patched.SampleTargets.take = filters.around(patched.SampleTargets.take)
    generate: Any = teacher.around(engine.generate)
    engine.generate = generate  # type: ignore[method-assign]
    patched_pipeline: Any = pipeline
    patched_pipeline.plan_samples = plan.around(patched_pipeline.plan_samples)
    with tempfile.TemporaryDirectory(prefix="bench-pipeline-") as name:
        folder = Path(name)
        dialogues = (dialogue(n, args.turns) for n in range(args.dialogues))
        text = "".join(f"{json.dumps(one.as_dict())}\n" for one in dialogues)
        (folder / "d.jsonl").write_text(text, encoding="utf-8")
        config = SynthConfig(
            output_dir=folder / "out",
            num_samples=num_targets // args.turns,
            part=None,
            source=SourceConfig(
                name="jsonl", path=str(folder / "d.jsonl"), min_turns=args.turns, max_turns=args.turns
            ),
            teacher=TeacherConfig(compose=False),
        )  # fmt: skip
        start = time.perf_counter()
        result = pipeline.run_synth(config, lambda: engine)
        seconds = time.perf_counter() - start
        num_bytes = result.samples.stat().st_size
    beside = seconds - verifiers.seconds - filters.seconds - teacher.seconds
    per_target = 1000 / result.num_turns
    return {
        "targets": result.num_turns,
        "filled": result.num_targets,
        "draws_a_target": engine.num_requests / result.num_turns,
        "seconds": seconds,
        "ms_a_target_beside": beside * per_target,
        "ms_a_target_plan": plan.seconds * per_target,
        "ms_a_target_verifiers": verifiers.seconds * per_target,
        "ms_a_target_filters": filters.seconds * per_target,
        "ms_a_target_teacher": teacher.seconds * per_target,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "file_mib": num_bytes / 2**20,
    }


def reply(request: GenerationRequest) -> str:
    """Return what the scripted teacher says: another sentence for each turn of a sample."""
    sample, turn, attempt = request.key.split("/")
    return sentence(int(sample[1:]) + int(attempt) * 31, int(turn))


def dialogue(number: int, num_turns: int) -> Dialogue:
    """Return a dialogue of ordinary length."""
    messages = []
    for turn in range(num_turns):
        messages.append(Message("user", f"What of {number}? {sentence(number, turn + 50)}"))
        messages.append(Message("assistant", f"Well. {sentence(number, turn + 90)}"))
    return Dialogue(f"d{number}", tuple(messages))


def main() -> None:
    """Measure every size, smallest first, and print and write the figures."""
    args = arguments()
    if args.only:
        sys.stdout.write(json.dumps(measure(args.only, args)) + "\n")
        return
    rows = [
        measured_apart(f"{num} targets", __file__, *sys.argv[1:], "--only", str(num))
        for num in sorted(args.targets)
    ]
    added = rows[-1]["peak_mib"] - rows[0]["peak_mib"]
    worst = max(row["ms_a_target_beside"] for row in rows)
    print_table(rows)
    print(
        f"beside verifiers, filters and teacher: {worst:.3f} ms a target; memory: {added:.0f} MiB more at "
        f"{rows[-1]['targets']} targets than at {rows[0]['targets']}"
    )
    report = {"rows": rows, "pipeline_ms_a_target": worst, "pipeline_added_mib": added}
    write_report(args, report)


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print a line a size."""
    table = Table("targets", "filled", "seconds", "beside", "of it plan", "verifiers", "filters",
                  "teacher", "peak MiB", "file MiB", title="milliseconds a target")  # fmt: skip
    for column in table.columns:
        column.justify = "right"
    keys = ("beside", "plan", "verifiers", "filters", "teacher")
    for row in rows:
        times = [f"{row[f'ms_a_target_{key}']:.3f}" for key in keys]
        table.add_row(str(row["targets"]), str(row["filled"]), f"{row['seconds']:.1f}", *times,
                      f"{row['peak_mib']:.0f}", f"{row['file_mib']:.0f}")  # fmt: skip
    Console(width=None if sys.stdout.isatty() else 110).print(table)


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--targets", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--turns", type=int, default=10, help="of every dialogue")
    parser.add_argument("--dialogues", type=int, default=1000, help="that the samples are made of")
    parser.add_argument("--only", type=int, help="measure one size in this process")
    parser.add_argument("--json", type=Path, help="write the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
