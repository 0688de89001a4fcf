"""Time this project's sampling against padded `generate` and `generate_batch` of transformers.

    python scripts/bench_sampling.py --json results/sampling/turns_20.json
    python scripts/bench_sampling.py --only rollout --rounds 1 --json results/sampling/rollout.json

First the replies to every turn of one dialogue; then roll-outs, in which each dialogue reads its own
replies. The contenders take turns and give replies of the same number of tokens; quoted are medians, of
`generate` those of its best batch size: the first round tries all, for roll-outs on the prompts of the
middle turn. The bound is what must be done at least: plain passes over the distinct prompt tokens in one
row, then over as many steps as a reply has tokens, without any history to attend to.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from rich.console import Console
from rich.table import Table
from transformers.utils.logging import set_verbosity_error

from gatt.benchmark.sampling import (
    SamplingSetting,
    all_turns,
    bound,
    by_engine,
    by_generate,
    by_generate_batch,
    endless_engine,
    num_distinct,
    roll_out_by_engine,
    roll_out_by_generate,
    seconds_of,
)
from gatt.errors import GattError
from gatt.generation.transformers import EngineCounters
from gatt.models import EMBEDDED, LoadedModel, load_model
from gatt.provenance import provenance

PARTS = ("turns", "rollout")


def main() -> None:
    """Run the benchmark."""
    args = arguments()
    set_verbosity_error()
    loaded = load_model(args.model, device=args.device)
    setting = SamplingSetting(
        turns=args.turns, new_tokens=args.new_tokens, user_tokens=args.user_tokens,
        reply_tokens=args.reply_tokens, seed=args.seed,
    )  # fmt: skip
    report: dict[str, Any] = {}
    if args.only != "rollout":
        report |= time_turns(loaded, setting, args)
    if args.only != "turns":
        report |= time_roll_outs(loaded, setting, args)
    report |= {
        "settings": {k: str(v) if isinstance(v, Path) else v for k, v in vars(args).items()},
        "provenance": provenance(),
    }
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def time_turns(
    loaded: LoadedModel, setting: SamplingSetting, args: argparse.Namespace
) -> dict[str, Any]:
    """Time the replies to every turn of one dialogue."""
    prompts = all_turns(loaded, setting)
    engine = endless_engine(loaded)
    work: dict[str, Callable[[], Any]] = {
        "engine": lambda: by_engine(engine, setting),
        **{
            f"generate, batch {batch}": lambda batch=batch: by_generate(
                loaded, prompts, batch, setting.new_tokens
            )
            for batch in args.batch_sizes
        },
        "generate_batch": lambda: by_generate_batch(loaded, prompts, setting.new_tokens),
    }
    by_engine(engine, replace(setting, turns=2, new_tokens=2))
    seconds: dict[str, list[float]] = {name: [] for name in [*work, "bound"]}
    for number in range(args.rounds):
        for name, run in work.items():
            if number and name.startswith("generate,") and name != best(seconds):
                continue
            seconds[name].append(seconds_of(run))
            say(number, args.rounds, name, seconds[name][-1])
        seconds["bound"].append(bound(loaded, prompts, setting.new_tokens))
        say(number, args.rounds, "bound", seconds["bound"][-1])
    engine.counters = EngineCounters()
    by_engine(engine, setting)
    median = {name: statistics.median(found) for name, found in seconds.items()}
    report = {
        "sampling_vs_generate": median[best(seconds)] / median["engine"],
        "sampling_vs_generate_batch": median["generate_batch"] / median["engine"],
        "fraction_of_bound": median["bound"] / median["engine"],
        "tokens_prompts": sum(map(len, prompts)),
        "tokens_distinct": num_distinct(prompts),
        "tokens_encoded": engine.counters.num_encoded_tokens,
        "counters": asdict(engine.counters),
        "sampling_seconds": seconds,
    }
    print_table(f"{args.model}: replies to {setting.turns} turns of one dialogue", seconds, report)
    return report


def time_roll_outs(
    loaded: LoadedModel, setting: SamplingSetting, args: argparse.Namespace
) -> dict[str, Any]:
    """Time roll-outs of many dialogues."""
    num = args.dialogues
    middle = replace(setting, turns=max(1, setting.turns // 2))
    prompt = all_turns(loaded, middle)[-1]
    trial = {
        batch: seconds_of(
            lambda batch=batch: by_generate(loaded, [prompt] * num, batch, setting.new_tokens)
        )
        for batch in args.rollout_batch_sizes
    }
    fastest = min(trial, key=lambda batch: trial[batch])
    Console(stderr=True).print(f"one turn by generate at batch sizes: {trial}")
    tokens = setting.turns * (setting.user_tokens + setting.new_tokens + 32) * num
    engine = endless_engine(loaded, 2 * tokens)
    seconds: dict[str, list[float]] = {"engine": [], f"generate, batch {fastest}": []}
    for number in range(args.rounds):
        for name, run in (
            ("engine", lambda: roll_out_by_engine(engine, setting, num)),
            (
                f"generate, batch {fastest}",
                lambda: roll_out_by_generate(loaded, setting, num, fastest),
            ),
        ):
            seconds[name].append(seconds_of(run))
            say(number, args.rounds, f"roll-outs by {name}", seconds[name][-1])
    median = {name: statistics.median(found) for name, found in seconds.items()}
    report = {
        "rollout_vs_generate": median[f"generate, batch {fastest}"] / median["engine"],
        "rollout_dialogues": num,
        "rollout_counters": asdict(engine.counters),
        "rollout_trial_seconds": trial,
        "rollout_seconds": seconds,
    }
    title = f"{args.model}: roll-outs of {num} dialogues, {setting.turns} turns"
    print_table(title, seconds, report)
    return report


def best(seconds: dict[str, list[float]]) -> str:
    """Return the padded `generate` whose batch size is fastest so far."""
    rivals = {n: s for n, s in seconds.items() if n.startswith("generate,") and s}
    return min(rivals, key=lambda name: statistics.median(rivals[name]))


def say(number: int, rounds: int, name: str, seconds: float) -> None:
    """Report one measurement."""
    Console(stderr=True).print(f"round {number + 1} of {rounds}: {name}: {seconds:.2f} s")


def print_table(title: str, seconds: dict[str, list[float]], report: dict[str, Any]) -> None:
    """Print medians and ratios."""
    table = Table(title=title)
    for column in ("contender", "s", "rounds", "times the engine's"):
        table.add_column(column, justify="left" if column == "contender" else "right")
    ours = statistics.median(seconds["engine"])
    for name, found in seconds.items():
        median = statistics.median(found)
        table.add_row(name, f"{median:.2f}", str(len(found)), f"{median / ours:.2f}")
    console = Console(width=110)
    console.print(table)
    for key, value in report.items():
        if isinstance(value, int | float):
            console.print(f"{key}: {value:.3f}" if isinstance(value, float) else f"{key}: {value}")


def arguments() -> argparse.Namespace:
    """Return the words of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default=EMBEDDED, help="embedded, a folder, or a hub id")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", choices=PARTS, help="one of the two (default: both)")
    parser.add_argument("--turns", type=int, default=20, help="of a dialogue (default: 20)")
    parser.add_argument("--new-tokens", type=int, default=32, help="of a reply (default: 32)")
    parser.add_argument("--user-tokens", type=int, default=9, help="of a user's text (default: 9)")
    parser.add_argument(
        "--reply-tokens", type=int, default=27, help="of a text in the history (default: 27)"
    )
    parser.add_argument(
        "--batch-sizes", type=int, nargs="+", default=[2, 5, 10, 20], help="of generate"
    )
    parser.add_argument("--dialogues", type=int, default=32, help="to roll out (default: 32)")
    parser.add_argument("--rollout-batch-sizes", type=int, nargs="+", default=[8, 16, 32])
    parser.add_argument("--rounds", type=int, default=5, help="of all contenders (default: 5)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        main()
    except GattError as error:
        raise SystemExit(f"error: {error}") from None
