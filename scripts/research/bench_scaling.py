"""How the time of one training step grows with the turns of its dialogue: comb against rows.

    python scripts/research/bench_scaling.py --turns 10 20 40 80 --json results/scaling.json

A step trains every turn of one dialogue: as one comb, and as one expanded row a turn. Each is timed by
`bench_training.py --only`, in a process of its own; several rounds give medians.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any

from benchmark.apart import measured_apart, write_report
from rich.console import Console
from rich.table import Table

from gatt.models.packaged import EMBEDDED

CONTENDERS = {"comb": "comb", "expanded": "expanded, batch 1"}


def measure(turns: int, name: str, args: argparse.Namespace) -> float:
    """Return the seconds of one step."""
    words = [
        "--only", name, "--turns", str(turns), "--model", args.model,
        "--exchange-tokens", str(args.exchange_tokens), "--reply-tokens", str(args.reply_tokens),
    ]  # fmt: skip
    script = str(Path(__file__).with_name("bench_training.py"))
    found = measured_apart(f"{name}, {turns} turns", script, *words)
    return float(found["seconds"][-1])


def main() -> None:
    """Time all lengths, smallest first, and print and write them."""
    args = arguments()
    console = Console(stderr=True)
    seconds: dict[str, dict[int, list[float]]] = {
        kind: {n: [] for n in args.turns} for kind in CONTENDERS
    }
    for number in range(args.rounds):
        for turns in sorted(args.turns):
            for kind, name in CONTENDERS.items():
                seconds[kind][turns].append(measure(turns, name, args))
                console.print(f"round {number + 1} of {args.rounds}: {turns} turns, {kind}: "
                              f"{seconds[kind][turns][-1]:.2f} s")  # fmt: skip
            # The longest take most of the time: what has been timed so far is kept.
            write_report(args, {"rows": rows_of(seconds), "seconds": seconds})
    print_table(rows_of(seconds), args)


def rows_of(seconds: dict[str, dict[int, list[float]]]) -> list[dict[str, Any]]:
    """Return the medians of the lengths that have been timed."""
    lengths = sorted(n for n in seconds["comb"] if all(found[n] for found in seconds.values()))
    return [
        {"turns": n} | {f"{kind}_seconds": statistics.median(f[n]) for kind, f in seconds.items()}
        for n in lengths
    ]


def print_table(rows: list[dict[str, Any]], args: argparse.Namespace) -> None:
    """Print seconds a dialogue and a target."""
    table = Table(title=f"{args.model}: one dialogue a step, a target for every turn")
    for title in ("turns", "comb s", "expanded s", "times", "comb s/target", "expanded s/target"):
        table.add_column(title, justify="right")
    for row in rows:
        comb, expanded = row["comb_seconds"], row["expanded_seconds"]
        table.add_row(
            str(row["turns"]), f"{comb:.2f}", f"{expanded:.2f}", f"{expanded / comb:.1f}",
            f"{comb / row['turns']:.2f}", f"{expanded / row['turns']:.2f}",
        )  # fmt: skip
    Console(width=100).print(table)


def arguments() -> argparse.Namespace:
    """Return the words of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--model", default=EMBEDDED, help="embedded, a folder, or random-llama:SIZE"
    )
    parser.add_argument("--turns", type=int, nargs="+", default=[10, 20, 40, 80], metavar="N")
    parser.add_argument("--exchange-tokens", type=int, default=46, help="user and reply (46)")
    parser.add_argument("--reply-tokens", type=int, default=32, help="of a target (default: 32)")
    parser.add_argument("--rounds", type=int, default=1, help="of all lengths (default: 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
