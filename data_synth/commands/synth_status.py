"""`gatt synth status`: how far a run is."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from gatt.config.path_argument import path_argument

if TYPE_CHECKING:
    from data_synth.parallel.status import RunStatus, ShardStatus

HELP = "show how far a run is, from its files alone: samples, targets, who works on it, time left"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the folder."""
    parser.add_argument(
        "folder", type=path_argument, metavar="FOLDER", help="output_dir of the run"
    )


def run(args: argparse.Namespace) -> int:
    """Print one line on the run, and one on each of its files."""
    from data_synth.parallel.status import run_status

    status = run_status(args.folder)
    sys.stdout.write("".join(f"{line}\n" for line in status_lines(status)))
    return 0


def status_lines(status: RunStatus) -> list[str]:
    """Return the lines that are printed."""
    num_turns = sum(shard.num_turns for shard in status.shards)
    num_targets = sum(shard.num_targets for shard in status.shards)
    share = f"{num_targets / num_turns:.0%} of {num_turns} turns" if num_turns else "no turn yet"
    lines = [
        f"{status.folder}: {status.num_samples} of {status.num_planned} samples "
        f"({status.num_samples / status.num_planned:.0%}), {num_targets} targets ({share}), "
        f"{_left(status.seconds_left)}"
    ]
    lines += [f"  {_line(shard)}" for shard in status.shards]
    found = {shard.shard.number for shard in status.shards}
    lines += [
        f"  shard {number}/{status.num_shards}: not begun"
        for number in range(1, status.num_shards + 1)
        if number not in found
    ]
    return lines


def _line(shard: ShardStatus) -> str:
    name = "samples.jsonl" if shard.shard.is_whole else f"shard {shard.shard}"
    holder = f"in use by {shard.holder}" if shard.holder else "in use by nobody"
    rate = shard.samples_a_second
    speed = f", {rate * 60:.3g} samples a minute" if rate and shard.holder else ""
    left = f", {_left(shard.seconds_left)}" if shard.holder else ""
    state = "complete" if not shard.num_missing else f"{holder}{speed}{left}"
    return f"{name}: {shard.num_samples} of {shard.num_planned} samples, {state}"


def _left(seconds: float | None) -> str:
    if seconds is None:
        return "time left unknown"
    if not seconds:
        return "complete"
    hours, rest = divmod(round(seconds), 3600)
    minutes, rest = divmod(rest, 60)
    return f"about {hours}:{minutes:02}:{rest:02} left"
