"""`gatt eval compare`: two evaluations reply by reply, as of a local and of a served model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gatt.cli import path_argument
from gatt.errors import ConfigError

if TYPE_CHECKING:
    from eval.results.compare import Comparison, Pair

HELP = "how far the replies and verdicts of two evaluations agree, and where they do not"
EXIT_DISAGREES = 1

_ABOUT = f"""{HELP}: of a local model and the same one on a server, say. Both
must have the same cases. Give the served model the name of its arm in `gatt eval`
(--arms='[gatt]' --adapters.gatt=NAME_IT_IS_SERVED_BY), or say here which arms belong
together: --arm gatt=base, where a merged model was evaluated as a base model."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the two folders and what is to be made of them."""
    parser.description = _ABOUT
    parser.add_argument(
        "left", type=path_argument, metavar="FOLDER", help="output_dir of an evaluation"
    )
    parser.add_argument(
        "right", type=path_argument, metavar="OTHER", help="output_dir of the other one"
    )
    parser.add_argument(
        "--arm", action="append", default=[], metavar="ARM=OTHERS",
        help="compare this arm with that of the other one, any number of times (default: those of one name)",
    )  # fmt: skip
    parser.add_argument(
        "--at-least", type=float, metavar="SHARE",
        help="exit with status 1 if fewer verdicts agree, such as 0.98, or not all were compared",
    )  # fmt: skip
    parser.add_argument(
        "--output", type=path_argument, metavar="FILE", help="write all of it as JSON too"
    )


def run(args: argparse.Namespace) -> int:
    """Print the agreement and every difference.

    Raises:
        ConfigError: a share that is none, or arms that are no pair.
    """
    if args.at_least is not None and not 0 <= args.at_least <= 1:
        raise ConfigError(
            f"--at-least is {args.at_least}: expected a share from 0 to 1, such as 0.98"
        )
    from eval.report.data.runs import refuse_own_files
    from eval.results.compare import compare
    from gatt.runs.atomic_file import atomic_write_json

    refuse_own_files((args.output,), (args.left, args.right))
    found = compare(args.left, args.right, _arms(args.arm))
    lines = list(_lines(found, args.left, args.right))
    if args.output:
        atomic_write_json(args.output, found.as_dict())
        lines.append(str(args.output))
    problems = [] if args.at_least is None else list(_problems(found, args.at_least))
    sys.stdout.write("\n".join((*lines, *problems)) + "\n")
    return EXIT_DISAGREES if problems else 0


def _arms(words: Sequence[str]) -> dict[str, str]:
    arms: dict[str, str] = {}
    for word in words:
        ours, _, theirs = word.partition("=")
        if not (ours and theirs) or ours in arms or theirs in arms.values():
            raise ConfigError(
                f"--arm {word}: expected ARM=OTHERS, each arm once, such as gatt=base"
            )
        arms[ours] = theirs
    return arms


def _problems(found: Comparison, at_least: float) -> Iterator[str]:
    """Yield why two evaluations do not agree as they should; what was not compared may not."""
    if num := found.num_only_left + found.num_only_right + found.num_other_prompts:
        yield (
            f"{num} replies were not compared ({found.total.num} were): expected all replies in both "
            "folders, to the same prompts; --arm takes the arms that belong together"
        )
    if all(p.left.status == "undecided" for p in found.pairs):
        yield "no reply has a verdict: expected some that the rules can decide"
    if found.total.verdict_rate < at_least:
        yield f"fewer verdicts agree than {at_least:.1%}"


def _lines(found: Comparison, left: Path, right: Path) -> Iterator[str]:
    for name, tally in {**found.arms, "all": found.total}.items():
        yield (
            f"{name}: {tally.num} replies, {tally.num_same_verdicts} with the same verdict "
            f"({tally.verdict_rate:.1%}), {tally.num_same_replies} with the same words "
            f"({tally.num_same_replies / tally.num:.1%})"
        )
    others = {
        f"only in {left}": found.num_only_left,
        f"only in {right}": found.num_only_right,
        "asked something else": found.num_other_prompts,
    }
    if any(others.values()):
        yield "not compared: " + ", ".join(f"{n} {what}" for what, n in others.items() if n)
    for number, pair in enumerate(found.differences, start=1):
        yield from ("", f"{number}. {_where(pair)}", f"   {_what(pair)}")
        for folder, sample in zip((left, right), pair, strict=True):
            yield f"   {folder}: {' '.join(sample.reply.split())}"


def _where(pair: Pair) -> str:
    s = pair.left
    told = s.instruction.id if s.instruction else "no instruction"
    turn = f"{'probe at ' * (s.kind == 'probe')}turn {s.turn}"
    return f"{s.arm}, {s.history} history, {s.dialogue}, {told}, {turn}"


def _what(pair: Pair) -> str:
    one, other = pair
    said = f"they part after {pair.num_shared} characters"
    if pair.is_same_reply:
        # The same words under other rules, or other versions of them.
        said = "the same words"
    elif pair.num_shared == min(len(one.reply), len(other.reply)):
        said = f"one continues where the other ends ({one.finish}, {other.finish})"
    return (
        f"{one.status if pair.is_same_verdict else f'{one.status} against {other.status}'}; {said}"
    )
