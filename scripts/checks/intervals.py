"""Hold the intervals against simulated runs whose true rates are known.

    PYTHONPATH=scripts python scripts/checks/intervals.py --design 60x4x20 --json results/intervals/60x4x20.json

A design is dialogues x cases of each x instructions; replies share the dialogue and the instruction,
see `checks.simulated`. Rates are compared with the published two-way standard error, with intervals that
know of dialogues alone, with a percentile bootstrap of dialogues and with plain Wilson.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path

from checks.coverage import (
    Coverage,
    coverage_of_areas,
    coverage_of_differences,
    coverage_of_power,
    coverage_of_rates,
)
from checks.simulated import Design, Likeness
from rich.console import Console
from rich.table import Table

from gatt.runs.provenance import provenance

LIKENESSES = (
    Likeness(),
    Likeness(dialogue=0.4),
    Likeness(instruction=0.4),
    Likeness(dialogue=0.3, instruction=0.3),
    Likeness(dialogue=0.1, instruction=0.7),
)
RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.99)
TURNS = (1, 2, 4, 8, 20)
CURVES = ((0.95, 0.9, 0.85, 0.8, 0.7), (0.9, 0.7, 0.5, 0.3, 0.2), (0.9, 0.1, 0.05, 0.05, 0.05))
PAIRS = ((0.3, 0.3), (0.5, 0.3), (0.9, 0.5), (0.9, 0.05), (0.1, 0.02))
POWER_BASES = (0.05, 0.3)


def main() -> None:
    """Run the simulation of one design."""
    args = arguments()
    design = Design.parse(args.design)
    start = time.perf_counter()
    found: list[Coverage] = []
    for likeness in LIKENESSES:
        found += coverage_of_rates(design, likeness, RATES, args.runs, args.seed)
        lasting = Likeness(likeness.dialogue, likeness.instruction, 0.2)
        few = args.runs // 4
        found += coverage_of_areas(design, lasting, TURNS, CURVES, few, args.seed)
        found += coverage_of_differences(design, likeness, PAIRS, few, args.seed)
        found += coverage_of_differences(design, lasting, PAIRS, few, args.seed, len(TURNS))
        found += [coverage_of_power(design, likeness, b, few, args.seed) for b in POWER_BASES]
    show(found)
    if args.json:
        report = {
            "settings": {"design": args.design, "runs": args.runs, "seed": args.seed},
            "seconds": round(time.perf_counter() - start, 1),
            "provenance": provenance(),
            "coverage": [asdict(record) for record in found],
        }
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def show(found: list[Coverage]) -> None:
    """Print the table."""
    methods = list(found[0].covered)
    table = Table("what", "likeness", "truth", *methods, "p < 0.05", "detectable")
    for record in found:
        shares = [f"{100 * record.covered[m]:.1f}" if m in record.covered else "" for m in methods]
        likeness = "/".join(f"{value:g}" for value in record.likeness.values())
        rest = ["" if v is None else f"{v:.3f}" for v in (record.rejected, record.detectable)]
        table.add_row(record.what, likeness, f"{record.truth:.3f}", *shares, *rest)
    Console().print(table)


def arguments() -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--design", default="60x4x20", help="dialogues x cases x instructions")
    parser.add_argument("--runs", type=int, default=2000, help="runs for each true rate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="where to write all numbers")
    return parser.parse_args()


if __name__ == "__main__":
    main()
