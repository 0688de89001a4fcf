"""Time this project's comb against TRL, against its own expanded rows, and against the floor.

    python scripts/research/bench_training.py --turns 20 --json results/bench.json

One step trains every turn of one dialogue: the same model, LoRA and targets for all. The contenders
take turns, so that a noisy machine is noisy for all of them; quoted are medians, of each kind those
of the best batch size (the first round tries all, the others those that came near). The floor is a plain
causal step on one ordinary sequence of the comb's length with as many scored positions.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch
from benchmark.apart import TooLargeError, measured_apart, write_report
from benchmark.contenders import Contender, Setting, contenders
from benchmark.flops import ModelShape, work_of
from benchmark.measure import measure
from datasets import disable_progress_bars
from rich.console import Console
from rich.table import Table
from transformers.utils.logging import set_verbosity_error

from gatt.errors import GattError
from gatt.models.load import load_tokenizer
from gatt.models.packaged import EMBEDDED

WITHIN = 1.15
"""A batch size stays in the running while its step takes at most so many times the best one's."""


def measure_apart(name: str) -> dict[str, Any]:
    """Measure a contender in a process of its own: on CPU one keeps the memory that it once took."""
    found = measured_apart(name, __file__, *sys.argv[1:], "--only", name)
    return {**found, "shape": ModelShape(**found["shape"])}


def main() -> None:
    """Run the benchmark."""
    args = arguments()
    disable_progress_bars()
    set_verbosity_error()
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
    torch.manual_seed(0)
    console = Console(stderr=True)
    warm_up = int(args.device == "cuda")
    setting = Setting(
        steps=1 + warm_up,
        **{
            field.name: tuple(value) if isinstance(value, list) else value
            for field in fields(Setting)
            if (value := vars(args).get(field.name)) is not None
        },
    )
    tokenizer = load_tokenizer(args.tokenizer or (EMBEDDED if ":" in args.model else args.model))
    with tempfile.TemporaryDirectory() as name:
        found = list(contenders(setting, tokenizer, Path(name)))
        if args.only:
            (one,) = [c for c in found if c.name == args.only]
            result = measure(one, setting, warm_up)
            print(json.dumps({**result, "shape": asdict(result["shape"])}))
            return
        results: dict[str, list[dict[str, Any]]] = {c.name: [] for c in found}
        too_large: list[str] = []
        for number in range(args.rounds):
            for contender in found:
                if number and not is_in_the_running(contender.name, results):
                    continue
                try:
                    if args.device == "cpu":
                        result = measure_apart(contender.name)
                    else:
                        result = measure(contender, setting, warm_up)
                except (TooLargeError, torch.cuda.OutOfMemoryError):
                    torch.cuda.empty_cache()
                    console.print(f"{contender.name}: the memory is too small for it")
                    too_large.append(contender.name)
                    continue
                results[contender.name].append(result)
                console.print(f"round {number + 1} of {args.rounds}: {contender.name}: "
                              f"{result['seconds'][-1]:.2f} s")  # fmt: skip
    results = {name: runs for name, runs in results.items() if runs}
    missing = {"comb", "floor", "expanded", "TRL"} - {kind_of(name) for name in results}
    if missing:
        raise SystemExit(f"no memory for {', '.join(sorted(missing))} at any batch size")
    losses = {name: runs[0]["loss"] for name, runs in results.items()}
    own = [loss for name, loss in losses.items() if name != "floor" and not name.startswith("TRL")]
    if max(own) - min(own) > 1e-3 * max(own) * (1 if args.device == "cpu" else 20):
        raise SystemExit(f"the layouts disagree on the loss: {losses}")
    report = summary(args, found, results) | {"too_large": too_large}
    print_table(report)
    write_report(args, report)


def median_seconds(runs: Sequence[dict[str, Any]]) -> float:
    """Return the median over all timed steps of a contender."""
    return float(statistics.median(second for run in runs for second in run["seconds"]))


def kind_of(name: str) -> str:
    """Return a contender's name without its batch size."""
    return name.split(", batch")[0]


def best(kind: str, results: dict[str, list[dict[str, Any]]]) -> str:
    """Return the contender of a kind whose batch size is fastest so far."""
    rivals = [name for name, runs in results.items() if kind_of(name) == kind and runs]
    return min(rivals, key=lambda name: median_seconds(results[name]))


def is_in_the_running(name: str, results: dict[str, list[dict[str, Any]]]) -> bool:
    """Whether a batch size may still be the best of its kind, and so is timed again."""
    if not results[name]:
        return False
    fastest = median_seconds(results[best(kind_of(name), results)])
    return median_seconds(results[name]) <= WITHIN * fastest


def summary(
    args: argparse.Namespace,
    found: Sequence[Contender],
    results: dict[str, list[dict[str, Any]]],
) -> dict[str, Any]:
    """Return all figures as JSON takes them."""
    by_name = {c.name: c for c in found if c.name in results}
    median = {n: median_seconds(runs) for n, runs in results.items()}
    peaks = {n: statistics.median(run["peak_bytes"] for run in r) for n, r in results.items()}
    shape = results["comb"][0]["shape"]
    work = {n: work_of(c.rows, scores_everywhere=c.scores_everywhere) for n, c in by_name.items()}
    flops = {n: w.flops(shape) for n, w in work.items()}
    trl, expanded = best("TRL", results), best("expanded", results)
    smallest = f"TRL, batch {min(args.batch_sizes)}"
    longest = max(c.num_tokens for c in by_name[smallest].rows) * min(args.batch_sizes)
    tokens = {n: w.num_tokens for n, w in work.items()}
    gain, bound = median[trl] / median["comb"], flops[trl] / flops["comb"]
    return {
        "turns": args.turns,
        "model": args.model,
        "targets_per_second_vs_trl": gain,
        "targets_per_second_vs_expanded": median[expanded] / median["comb"],
        "seconds_per_token_vs_trl": (median["comb"] / tokens["comb"]) / (median[trl] / tokens[trl]),
        "seconds_per_token_vs_floor": median["comb"] / median["floor"],
        "peak_memory_vs_trl": (peaks["comb"] / tokens["comb"]) / (peaks[smallest] / longest),
        "flop_bound": bound,
        "fraction_of_flop_bound": gain / bound,
        "fraction_of_flop_bound_vs_expanded": (
            median[expanded] / median["comb"] / (flops[expanded] / flops["comb"])
        ),
        "utilisation": (
            flops["comb"] / median["comb"] / args.peak_tflops / 1e12 if args.peak_tflops else None
        ),
        "tokens_expanded": tokens[expanded],
        "tokens_comb": tokens["comb"],
        "contenders": [
            {
                "name": n, "seconds": [second for run in runs for second in run["seconds"]],
                "targets_per_second": args.turns / median[n], "tokens": tokens[n],
                "tflop": flops[n] / 1e12, "gflops": flops[n] / median[n] / 1e9,
                "loss": runs[0]["loss"], "peak_bytes": peaks[n],
                "num_supervised": runs[0]["num_supervised"],
            }
            for n, runs in results.items()
        ],
    }  # fmt: skip


def print_table(report: dict[str, Any]) -> None:
    """Print the contenders and the ratios."""
    table = Table(title=f"{report['model']}, {report['turns']} turns, one dialogue a step")
    titles = "contender,s a step,rounds,targets/s,tokens,TFLOP,GFLOP/s,loss,peak MiB"
    for title in titles.split(","):
        table.add_column(title, justify="left" if title == "contender" else "right")
    for row in report["contenders"]:
        table.add_row(
            row["name"], f"{statistics.median(row['seconds']):.2f}", str(len(row["seconds"])),
            f"{row['targets_per_second']:.2f}", str(row["tokens"]), f"{row['tflop']:.2f}",
            f"{row['gflops']:.0f}", f"{row['loss']:.4f}", f"{row['peak_bytes'] / 2**20:.0f}",
        )  # fmt: skip
    console = Console(width=132)
    console.print(table)
    for key, value in report.items():
        if isinstance(value, float):
            console.print(f"{key}: {value:.3f}")


def arguments() -> argparse.Namespace:
    """Return the words of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--model", default=EMBEDDED, help="embedded, a folder, or random-llama:SIZE"
    )
    parser.add_argument("--tokenizer", help="of a random model (default: the embedded one)")
    parser.add_argument("--turns", type=int, default=20, help="of the dialogue (default: 20)")
    parser.add_argument("--exchange-tokens", type=int, default=46, help="user and reply (46)")
    parser.add_argument("--reply-tokens", type=int, default=32, help="of a target (default: 32)")
    parser.add_argument("--rounds", type=int, default=3, help="of all contenders (default: 3)")
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[1, 2, 4], help="of TRL")
    parser.add_argument(
        "--max-tokens-per-row", type=int, nargs="*", default=[], help="also time combs cut at these"
    )
    parser.add_argument("--gradient-checkpointing", action="store_true")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument(
        "--peak-tflops", type=float, help="of the device: prints the share of it that the comb used"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument(
        "--only", metavar="CONTENDER", help="time this one alone, print one JSON line"
    )
    return parser.parse_args()


if __name__ == "__main__":
    try:
        main()
    except GattError as error:
        raise SystemExit(f"error: {error}") from None
