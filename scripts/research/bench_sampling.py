"""Time this project's sampling against padded `generate` and `generate_batch` of transformers.

    python scripts/research/bench_sampling.py --part turns --json results/sampling/turns_20.json
    python scripts/research/bench_sampling.py --part rollout --rounds 1 --json results/sampling/rollout.json

First the replies to every turn of one dialogue; then roll-outs, in which each dialogue reads its own
replies. The contenders take turns and give replies of the same number of tokens; each is measured after
a small warm-up, on a CPU in a process of its own. Quoted are medians, of `generate` those of its best
batch size: the first round tries all, for roll-outs on the prompts of the middle turn. The bound is what
must be done at least: plain passes over the distinct prompt tokens in one row, then over as many steps
as a reply has tokens, without any history to attend to. With --adapter, all have the model under it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from benchmark.apart import measured_apart, write_report
from benchmark.contenders import RANDOM, random_llama
from benchmark.sampling import (
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
from rich.console import Console
from rich.table import Table
from transformers.utils.logging import set_verbosity_error

from gatt.errors import GattError
from gatt.generation.local.engine import EngineCounters
from gatt.models.load import LoadedModel, load_adapter, load_model, load_tokenizer
from gatt.models.packaged import EMBEDDED

PARTS = ("turns", "rollout")
ENGINE, GENERATE_BATCH, BOUND = "engine", "generate_batch", "bound"
GENERATE, TRIAL = "generate, batch ", "middle turn by generate, batch "


def main() -> None:
    """Run the benchmark, or one contender of it."""
    args = arguments()
    set_verbosity_error()
    if args.only:
        print(json.dumps(measure(args.part, args.only, args)))
        return
    report: dict[str, Any] = {}
    if args.part != "rollout":
        report |= time_turns(args)
    if args.part != "turns":
        report |= time_roll_outs(args)
    write_report(args, report)


def measure(part: str, name: str, args: argparse.Namespace) -> dict[str, Any]:
    """Return the seconds of a contender in this process, and the engine's counters."""
    if args.model.startswith(RANDOM):
        model = random_llama(args.model, args.device).eval()
        loaded = LoadedModel(model, load_tokenizer(args.tokenizer), args.model)
    else:
        loaded = load_model(args.model, device=args.device)
    if args.adapter:
        loaded = load_adapter(loaded, args.adapter, "adapter")
    setting = setting_of(args)
    small = replace(setting, turns=2, new_tokens=2)
    engine = endless_engine(loaded, tokens_held(args)) if name == ENGINE else None
    work = work_of(part, name, loaded, engine)
    work(small, min(2, args.dialogues))
    if engine:
        engine.counters = EngineCounters()
    found: dict[str, Any] = {"seconds": seconds_of(lambda: work(setting, args.dialogues))}
    return found | ({"counters": asdict(engine.counters)} if engine else {})


def work_of(
    part: str, name: str, loaded: LoadedModel, engine: Any
) -> Callable[[SamplingSetting, int], Any]:
    """Return what a contender does with a setting and a number of dialogues."""
    batch = int(name.rpartition(" ")[2]) if name.startswith((GENERATE, TRIAL)) else 0
    if name.startswith(TRIAL):
        return lambda s, num: by_generate(
            loaded,
            [all_turns(loaded.tokenizer, replace(s, turns=max(1, s.turns // 2)))[-1]] * num,
            batch,
            s.new_tokens,
        )
    if part == "rollout":
        if engine:
            return lambda s, num: roll_out_by_engine(engine, s, num)
        return lambda s, num: roll_out_by_generate(loaded, s, num, batch)
    if engine:
        return lambda s, _: by_engine(engine, s)
    if name == GENERATE_BATCH:
        return lambda s, _: by_generate_batch(loaded, all_turns(loaded.tokenizer, s), s.new_tokens)
    if name == BOUND:
        return lambda s, _: bound(loaded, all_turns(loaded.tokenizer, s), s.new_tokens)
    return lambda s, _: by_generate(loaded, all_turns(loaded.tokenizer, s), batch, s.new_tokens)


def measured(part: str, name: str, args: argparse.Namespace, number: int) -> dict[str, Any]:
    """Measure a contender, on a CPU in a process of its own: one keeps the memory it once took."""
    if args.device != "cpu":
        found = measure(part, name, args)
    else:
        found = measured_apart(name, __file__, *sys.argv[1:], "--part", part, "--only", name)
    said = f"round {number + 1} of {args.rounds}: {part}: {name}: {found['seconds']:.2f} s"
    Console(stderr=True).print(said)
    return found


def time_turns(args: argparse.Namespace) -> dict[str, Any]:
    """Time the replies to every turn of one dialogue."""
    rivals = [f"{GENERATE}{batch}" for batch in args.batch_sizes]
    names = [ENGINE, *rivals, GENERATE_BATCH, BOUND]
    seconds: dict[str, list[float]] = {name: [] for name in names}
    counters: dict[str, int] = {}
    for number in range(args.rounds):
        for name in names:
            if number and name in rivals and name != best(seconds):
                continue
            found = measured("turns", name, args, number)
            seconds[name].append(found["seconds"])
            counters = found.get("counters", counters)
    median = {name: statistics.median(found) for name, found in seconds.items()}
    prompts = all_turns(load_tokenizer(args.tokenizer), setting_of(args))
    report = {
        "sampling_vs_generate": median[best(seconds)] / median[ENGINE],
        "sampling_vs_generate_batch": median[GENERATE_BATCH] / median[ENGINE],
        "fraction_of_bound": median[BOUND] / median[ENGINE],
        "tokens_prompts": sum(map(len, prompts)),
        "tokens_distinct": num_distinct(prompts),
        "tokens_encoded": counters["num_encoded_tokens"],
        "counters": counters,
        "sampling_seconds": seconds,
    }
    title = f"{model_of(args)}: replies to {args.turns} turns of one dialogue"
    print_table(title, seconds, report)
    return report


def time_roll_outs(args: argparse.Namespace) -> dict[str, Any]:
    """Time roll-outs of many dialogues."""
    trial = {
        batch: measured("rollout", f"{TRIAL}{batch}", args, 0)["seconds"]
        for batch in args.rollout_batch_sizes
    }
    rival = f"{GENERATE}{min(trial, key=lambda batch: trial[batch])}"
    seconds: dict[str, list[float]] = {ENGINE: [], rival: []}
    counters: dict[str, int] = {}
    for number in range(args.rounds):
        for name, found in seconds.items():
            one = measured("rollout", name, args, number)
            found.append(one["seconds"])
            counters = one.get("counters", counters)
    report = {
        "rollout_vs_generate": statistics.median(seconds[rival])
        / statistics.median(seconds[ENGINE]),
        "rollout_dialogues": args.dialogues,
        "rollout_counters": counters,
        "rollout_trial_seconds": trial,
        "rollout_seconds": seconds,
    }
    title = f"{model_of(args)}: roll-outs of {args.dialogues} dialogues, {args.turns} turns"
    print_table(title, seconds, report)
    return report


def setting_of(args: argparse.Namespace) -> SamplingSetting:
    """Return what all contenders share."""
    return SamplingSetting(turns=args.turns, new_tokens=args.new_tokens)


def model_of(args: argparse.Namespace) -> str:
    """Return what is timed, for the title of a table."""
    return f"{args.model} under {args.adapter}" if args.adapter else str(args.model)


def tokens_held(args: argparse.Namespace) -> int:
    """Return room for all that the roll-outs hold, so that nothing is encoded again."""
    return 2 * args.dialogues * args.turns * (SamplingSetting.user_tokens + args.new_tokens + 32)


def best(seconds: dict[str, list[float]]) -> str:
    """Return the padded `generate` whose batch size is fastest so far."""
    rivals = {n: s for n, s in seconds.items() if n.startswith(GENERATE) and s}
    return min(rivals, key=lambda name: statistics.median(rivals[name]))


def print_table(title: str, seconds: dict[str, list[float]], report: dict[str, Any]) -> None:
    """Print medians and ratios."""
    table = Table(title=title)
    for column in ("contender", "s", "rounds", "times the engine's"):
        table.add_column(column, justify="left" if column == "contender" else "right")
    ours = statistics.median(seconds[ENGINE])
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
    parser.add_argument(
        "--model", default=EMBEDDED, help="embedded, a folder, a hub id, or random-llama:SIZE"
    )
    parser.add_argument("--tokenizer", help="of a random model (default: the embedded one)")
    parser.add_argument("--adapter", type=Path, metavar="FOLDER", help="under which all run")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--part", choices=PARTS, help="one of the two (default: both)")
    parser.add_argument("--only", metavar="NAME", help="one contender of a part, once, as JSON")
    parser.add_argument("--turns", type=int, default=20, help="of a dialogue (default: 20)")
    parser.add_argument("--new-tokens", type=int, default=32, help="of a reply (default: 32)")
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[2, 5, 10, 20])
    parser.add_argument("--dialogues", type=int, default=32, help="to roll out (default: 32)")
    parser.add_argument("--rollout-batch-sizes", type=int, nargs="+", default=[8, 16, 32])
    parser.add_argument("--rounds", type=int, default=5, help="of all contenders (default: 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    args = parser.parse_args()
    if args.only and not args.part:
        parser.error("--only needs --part")
    is_random = args.model.startswith(RANDOM)
    args.tokenizer = args.tokenizer or EMBEDDED if is_random else args.model
    return args


if __name__ == "__main__":
    try:
        main()
    except GattError as error:
        raise SystemExit(f"error: {error}") from None
