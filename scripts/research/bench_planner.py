"""What a piece of work costs the one process that plans, sends, receives and writes for all workers of Ray.

    python scripts/research/bench_planner.py --json results/pipeline/planner.json

Counted is the processor time of this process, so that other work on the machine changes little. Parts of a
target: planning it anew and pickling it, unpickling its row, writing it. What Ray itself takes is not measured.
"""

from __future__ import annotations

import argparse
import gzip
import json
import pickle
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench_pipeline import dialogue
from benchmark.apart import write_report
from ray import cloudpickle

from data_synth.config import SynthConfig
from data_synth.plan import plan_samples
from gatt.runs.store import RecordStore

ROWS = Path(__file__).resolve().parents[2] / "results" / "qwen" / "questions_language.jsonl.gz"
TURNS = 20


def milliseconds(work: Callable[[], Any]) -> float:
    """Return the processor time of this process for some work."""
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start)


def of_planning(num_samples: int, batch: int) -> float:
    """Return the milliseconds a target in which samples are planned and pickled."""
    config = SynthConfig(output_dir=Path("unused"), num_samples=num_samples)
    plan = plan_samples(
        [dialogue(n, TURNS) for n in range(200)], config.instructions.load(), config
    )

    def send() -> None:
        for start in range(0, num_samples, batch):
            cloudpickle.dumps(plan[start : start + batch])

    return milliseconds(send) / plan.num_turns(range(num_samples))


def of_rows(batch: int) -> tuple[float, float]:
    """Return the milliseconds a target in which rows are unpickled, and in which they are written."""
    with gzip.open(ROWS, "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    rows *= 20
    num_targets = sum(len(row["turns"]) for row in rows)
    pieces = [pickle.dumps(rows[at : at + batch]) for at in range(0, len(rows), batch)]
    received = milliseconds(lambda: [pickle.loads(piece) for piece in pieces])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.jsonl"
        with RecordStore(path, fingerprint="x", kind="sample", describe={}) as store:
            written = milliseconds(lambda: [store.append(row) for row in rows])
    return received / num_targets, written / num_targets


def main() -> None:
    """Measure all parts, print and write them."""
    args = arguments()
    received, written = of_rows(args.batch)
    report: dict[str, Any] = {
        "plan_and_send_ms_a_target": of_planning(args.samples, args.batch),
        "receive_ms_a_target": received,
        "write_ms_a_target": written,
    }
    print(json.dumps(report, indent=2))
    write_report(args, report)


def arguments() -> argparse.Namespace:
    """Return the words of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=2000, help="that are planned")
    parser.add_argument("--batch", type=int, default=12, help="samples of a piece")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
