"""`gatt eval`: measure whether the instruction still holds."""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import replace

from eval.config import EvalConfig
from gatt.commands.run.plan import add_plan_argument, show_plan
from gatt.config.arguments import add_config_arguments, config_from_args
from gatt.generation.cluster.config import add_workers_argument, with_workers

HELP = "measure instruction adherence over many turns, arms side by side, and write the report"
TAKES_OVERRIDES = True
CONFIG = EvalConfig
PLAN = "eval.commands.eval_plan"
"""Module whose `planned` says what `--plan` prints."""
FIRST = (
    "output_dir", "suite", "adapters", "arms", "engine.model", "engine.server.urls", "histories",
    "num_dialogues", "turns", "instructions.catalog",
)  # fmt: skip
"""The keys that matter first."""

_ABOUT = f"""{HELP}

  gatt eval --suite=behaviour --output_dir=FOLDER --adapters.gatt=ADAPTER
  gatt eval --suite=behaviour --output_dir=FOLDER --adapters.gatt=ADAPTER --workers 4"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the configuration's arguments and the number of workers."""
    add_config_arguments(parser, EvalConfig, FIRST)
    parser.description = _ABOUT
    add_workers_argument(parser)
    add_plan_argument(parser)


def check(config: EvalConfig) -> None:
    """Refuse an evaluation whose cases cannot be made, or that would measure nothing.

    Raises:
        GattError: see `eval.run.check_cases`.
    """
    from eval.run import check_cases

    check_cases(config)


def execute(config: EvalConfig) -> str:
    """Run the evaluation, print its table and some dialogues; return one line on what is there."""
    from rich.console import Console

    from eval.report.tables.written import side_by_side, terminal_table
    from eval.run import evaluate

    result = evaluate(config)
    console = Console()
    console.print(terminal_table(result.results))
    trained = [arm for arm in config.arms if arm in config.adapters]
    other = next((arm for arm in trained if arm != config.compared_with), None)
    if other is not None:
        for table in side_by_side(result.results, result.samples):
            console.print(table)
        told = next((s.instruction for s in result.samples if s.instruction), None)
        if told is not None and len(told.entries) == 1 and config.engine.server is None:
            console.print(_chat_line(config, other, told.entries[0]), soft_wrap=True)
    how = "replies judged again" if config.replies_from else "new replies"
    state = f"{result.num_new} {how}" if result.num_new else "all replies stood there already"
    return f"{result.report} ({state})"


def _chat_line(config: EvalConfig, arm: str, entry: str) -> str:
    """Return the command that talks to an arm under an entry of the catalogue."""
    words = ["gatt", "chat", "--adapter", str(config.adapters[arm]), "--entry", entry]
    for path in config.instructions.catalog:
        words += ["--catalog", str(path)]
    return f"Talk to it: {shlex.join(words)}"


def run(args: argparse.Namespace) -> int:
    """Evaluate; a run that was interrupted is continued."""
    config = config_from_args(EvalConfig, args)
    config = replace(config, ray=with_workers(config.ray, args.workers))
    if args.plan:
        return show_plan([("eval", config, PLAN)])
    sys.stdout.write(execute(config) + "\n")
    return 0
