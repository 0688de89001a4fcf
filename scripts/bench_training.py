"""Time this project's comb against TRL, against its own expanded rows, and against the floor.

    python scripts/bench_training.py --turns 20 --json results/bench.json

One step trains every turn of one dialogue: the same model, LoRA and targets for all. The contenders
take turns, so that a noisy machine is noisy for all of them; quoted are medians. The floor is a plain
causal step on one ordinary sequence of the comb's length with as many scored positions.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch
from datasets import disable_progress_bars
from rich.console import Console
from rich.table import Table
from transformers.utils.logging import set_verbosity_error

from gatt.benchmark.contenders import Contender, Setting, contenders
from gatt.benchmark.measure import measure
from gatt.flops import work_of
from gatt.models import EMBEDDED, load_tokenizer
from gatt.provenance import provenance


def peak_of(name: str, args: argparse.Namespace) -> int:
    """Return the peak of a contender's step over the loaded model, in a process of its own."""
    words = [
        sys.executable, __file__, "--only", name, "--rounds", "1", "--model", args.model,
        "--turns", str(args.turns), "--exchange-tokens", str(args.exchange_tokens),
        "--reply-tokens", str(args.reply_tokens), "--seed", str(args.seed), "--device", args.device,
        "--batch-sizes", *map(str, args.batch_sizes),
        "--max-tokens-per-row", *map(str, args.max_tokens_per_row),
    ]  # fmt: skip
    if args.gradient_checkpointing:
        words.append("--gradient-checkpointing")
    if args.tokenizer:
        words += ["--tokenizer", args.tokenizer]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.strip().splitlines()[-1])
    return int(json.loads(done.stdout.strip().splitlines()[-1])["peak_bytes"])


def main() -> None:
    """Run the benchmark."""
    args = arguments()
    disable_progress_bars()
    set_verbosity_error()
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
    torch.manual_seed(0)
    console = Console(stderr=True)
    setting = Setting(
        steps=1 + args.warm_up,
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
            result = measure(one, setting, args.warm_up)
            print(json.dumps({"seconds": result["seconds"], "peak_bytes": result["peak_bytes"]}))
            return
        seconds: dict[str, list[float]] = {c.name: [] for c in found}
        losses: dict[str, float] = {}
        peaks: dict[str, int] = {}
        shape = None
        for number in range(args.rounds):
            for contender in found:
                # After two rounds the best batch size of each stands for it.
                if number >= 2 and contender.name not in {best(seconds, c.name) for c in found}:
                    continue
                result = measure(contender, setting, args.warm_up)
                seconds[contender.name] += result["seconds"]
                losses[contender.name], shape = result["loss"], result["shape"]
                peaks[contender.name] = result["peak_bytes"]
                console.print(f"round {number + 1} of {args.rounds}: {contender.name}: "
                              f"{result['seconds'][-1]:.2f} s")  # fmt: skip
    shown = [c for c in found if c.name == best(seconds, c.name)]
    wanted = [c.name for c in found if is_wanted(c.name, shown)]
    # On CPU a process keeps what it once took, so each is measured in one of its own.
    peaks = {n: peaks[n] if args.device == "cuda" else peak_of(n, args) for n in wanted}
    own = [loss for name, loss in losses.items() if name != "floor" and not name.startswith("TRL")]
    if max(own) - min(own) > 1e-3 * max(own) * (1 if args.device == "cpu" else 20):
        raise SystemExit(f"the layouts disagree on the loss: {losses}")
    report = summary(args, found, shown, seconds, losses, peaks, shape)
    print_table(report)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def is_wanted(name: str, shown: Sequence[Contender]) -> bool:
    """Whether the memory of a contender is quoted: of the best ones, and of TRL at batch 1."""
    return name in {c.name for c in shown} or name == "TRL, batch 1"


def best(seconds: dict[str, list[float]], name: str) -> str:
    """Return the fastest batch size of a contender's kind by its median so far."""
    kind = name.split(", batch")[0]
    rivals = {n: s for n, s in seconds.items() if n.split(", batch")[0] == kind and s}
    return min(rivals, key=lambda n: statistics.median(rivals[n])) if rivals else name


def summary(
    args: argparse.Namespace, found: Sequence[Contender], shown: Sequence[Contender],
    seconds: dict[str, list[float]], losses: dict[str, float], peaks: dict[str, int], shape: Any,
) -> dict[str, Any]:  # fmt: skip
    """Return all figures as JSON takes them."""
    by_name = {c.name: c for c in found}
    kind = {c.name.split(", batch")[0]: c.name for c in shown}
    median = {n: statistics.median(s) for n, s in seconds.items() if s}
    work = {n: work_of(c.rows, scores_everywhere=c.scores_everywhere) for n, c in by_name.items()}
    flops = {n: w.flops(shape) for n, w in work.items()}
    trl, expanded = kind["TRL"], kind["expanded"]
    longest = max(c.num_tokens for c in by_name["TRL, batch 1"].rows)
    tokens = {n: w.num_tokens for n, w in work.items()}
    gain, bound = median[trl] / median["comb"], flops[trl] / flops["comb"]
    return {
        "turns": args.turns,
        "model": args.model,
        "targets_per_second_vs_trl": gain,
        "targets_per_second_vs_expanded": median[expanded] / median["comb"],
        "seconds_per_token_vs_trl": (median["comb"] / tokens["comb"]) / (median[trl] / tokens[trl]),
        "seconds_per_token_vs_floor": median["comb"] / median["floor"],
        "peak_memory_vs_trl": (peaks["comb"] / tokens["comb"]) / (peaks["TRL, batch 1"] / longest),
        "flop_bound": bound,
        "fraction_of_flop_bound": gain / bound,
        "utilisation": (
            flops["comb"] / median["comb"] / args.peak_tflops / 1e12 if args.peak_tflops else None
        ),
        "tokens_expanded": tokens[expanded],
        "tokens_comb": tokens["comb"],
        "contenders": [
            {
                "name": n, "seconds": seconds[n], "targets_per_second": args.turns / median[n],
                "tokens": tokens[n], "tflop": flops[n] / 1e12, "gflops": flops[n] / median[n] / 1e9,
                "loss": losses[n], "peak_bytes": peaks.get(n),
            }
            for n in median
        ],
        "settings": {k: str(v) if isinstance(v, Path) else v for k, v in vars(args).items()},
        "provenance": provenance(),
    }  # fmt: skip


def print_table(report: dict[str, Any]) -> None:
    """Print the contenders and the ratios."""
    table = Table(title=f"{report['model']}, {report['turns']} turns, one dialogue a step")
    for title in (
        "contender",
        "s a step",
        "rounds",
        "targets/s",
        "tokens",
        "TFLOP",
        "GFLOP/s",
        "loss",
        "peak MiB",
    ):
        table.add_column(title, justify="left" if title == "contender" else "right")
    for row in report["contenders"]:
        peak = "" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 2**20:.0f}"
        table.add_row(
            row["name"], f"{statistics.median(row['seconds']):.2f}", str(len(row["seconds"])),
            f"{row['targets_per_second']:.2f}", str(row["tokens"]), f"{row['tflop']:.2f}",
            f"{row['gflops']:.0f}", f"{row['loss']:.4f}", peak,
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
    parser.add_argument(
        "--exchange-tokens", type=int, default=46, help="user and reply (default: 46)"
    )
    parser.add_argument("--reply-tokens", type=int, default=32, help="of a target (default: 32)")
    parser.add_argument("--rounds", type=int, default=3, help="of all contenders (default: 3)")
    parser.add_argument("--warm-up", type=int, help="untimed steps (default: 1 on CUDA, else 0)")
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument(
        "--max-tokens-per-row", type=int, nargs="*", default=[], help="also time combs cut at these"
    )
    parser.add_argument("--gradient-checkpointing", action="store_true")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--peak-tflops", type=float, help="of the device: prints the share of it that the comb used"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument(
        "--only", metavar="CONTENDER", help="time this one alone, print one JSON line"
    )
    args = parser.parse_args()
    if args.warm_up is None:
        args.warm_up = int(args.device == "cuda")
    return args


if __name__ == "__main__":
    main()
