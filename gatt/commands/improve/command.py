"""`gatt improve`: a trained model replies, and learns what it should have said; round after round."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Final

from gatt.cli import path_argument
from gatt.commands.improve.card import CARD, changes_of, summary_of, write_round_card
from gatt.commands.improve.rounds import STAGES, Round, plan_rounds
from gatt.commands.run.command import check_stages, execute_stages
from gatt.config.load import config_dict
from gatt.errors import ConfigError
from gatt.runs.atomic_file import atomic_write_text
from gatt.runs.values import dump_yaml
from gatt.stages.plan import add_plan_argument, duration, print_line, show_plan

HELP = "train a finished run further on its own replies, in rounds: make pairs, train, measure"
TAKES_OVERRIDES = True
ROUND_FILE: Final = "round.yaml"

_ABOUT = f"""{HELP}

  gatt improve RUN                          one round of DPO on pairs of its own replies
  gatt improve RUN --rounds 3               until the run has three; each starts from the last one
  gatt improve RUN --plan                   what it would do and how long it takes; writes nothing
  gatt improve RUN --pairs.replies=8 --train.learning_rate=1e-5
  gatt improve RUN --objective targets      learn the accepted replies, without the rejected ones

RUN is the folder of a finished `gatt run`. Each round writes a folder RUN/round-N with a card (README.md).
After Ctrl-C the same command continues."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the run, the number of rounds and the objective."""
    parser.add_argument(
        "run", type=path_argument, metavar="RUN", help="folder of a finished `gatt run`"
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=1,
        metavar="N",
        help="number of rounds after the command, earlier ones included [1]",
    )
    parser.add_argument(
        "--objective",
        choices=("preference", "targets"),
        default="preference",
        help="preference: prefer the chosen to the rejected reply (DPO); targets: learn the chosen replies "
        "alone [preference]",
    )
    add_plan_argument(parser)
    parser.description = _ABOUT
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    keys = "\n".join(f"  {name}.*: as `gatt {name} --help-all` lists them" for name in STAGES)
    parser.epilog = (
        f"keys of a round (as --train.learning_rate=1e-5):\n{keys}\n"
        "All other keys are as in the run, except one pass, and with preference a learning rate of 2e-5."
    )


def run(args: argparse.Namespace) -> int:
    """Run the missing rounds, or print their plan."""
    if args.rounds < 1:
        raise ConfigError(f"--rounds is {args.rounds}: expected at least 1")
    rounds = plan_rounds(args.run, args.rounds, args.objective, args.overrides)
    if args.plan:
        return show_plan(
            [
                (f"round {round_.number}, {stage.name}", stage.config, stage.module.PLAN)
                for round_ in rounds
                for stage in round_.stages
            ]
        )
    execute_rounds(rounds)
    return 0


def execute_rounds(rounds: Sequence[Round]) -> None:
    """Run the rounds in order; each stage skips finished work."""
    if not (start := rounds[0].start).is_dir():
        raise ConfigError(
            f"{start}: no adapter there: expected the one that the run trained; run `gatt run` to its end first"
        )
    check_stages(rounds[0].stages)
    began, new = time.monotonic(), []
    for round_ in rounds:
        started = time.monotonic()
        is_new = not (round_.folder / CARD).exists()
        _execute(round_, len(rounds))
        left = len(rounds) - round_.number
        if is_new:
            new.append(time.monotonic() - started)
        if left and new:
            print_line(f"      about {duration(left * sum(new) / len(new))} for {left} rounds more")
    last = rounds[-1]
    print_line(f"{len(rounds)} rounds done in {time.monotonic() - began:.0f} s: {last.adapter}")


def _execute(round_: Round, num_rounds: int) -> None:
    settings = {stage.name: config_dict(stage.config) for stage in round_.stages}
    atomic_write_text(round_.folder / ROUND_FILE, dump_yaml(settings))
    execute_stages(round_.stages, f"round {round_.number} of {num_rounds}, ")
    changes = changes_of(round_)
    write_round_card(round_, changes)
    print_line(f"      {summary_of(changes)}")
    print_line(f"      card: {round_.folder / CARD}")
