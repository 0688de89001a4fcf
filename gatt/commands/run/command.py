"""`gatt run`: data, training and evaluation from one file."""

from __future__ import annotations

import argparse

from gatt.cli import path_argument
from gatt.commands.run.pipeline import STAGES, execute_run, load_run
from gatt.commands.run.plan import add_plan_argument, print_line, show_plan

HELP = "run a whole file of stages (synth, train, eval); what is done already is skipped"
TAKES_OVERRIDES = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the file."""
    parser.add_argument(
        "file",
        type=path_argument,
        metavar="FILE",
        help="YAML file of the run, or the name of one of `gatt configs`: demo",
    )
    add_plan_argument(parser)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    keys = "\n".join(f"  {name}: as `gatt {name} --help-all` lists them" for name in STAGES)
    parser.epilog = (
        "keys of the file (each can be set after it, as --train.learning_rate=1e-4):\n"
        "  output_dir: folder of the run; {run} in any text of a stage stands for it,\n"
        "    and {here} for the folder of this file\n"
        f"{keys}\n"
        "A stage that the file leaves out is skipped."
    )


def run(args: argparse.Namespace) -> int:
    """Run the stages, or say what they would do; a run that was interrupted goes on."""
    run = load_run(args.file, args.overrides)
    if args.plan:
        return show_plan([(stage.name, stage.config, stage.plan) for stage in run.stages])
    execute_run(run, print_line)
    return 0
