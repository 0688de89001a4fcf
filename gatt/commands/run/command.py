"""`gatt run`: the stages of one YAML file, one after the other (see `gatt.stages.run_file`). No torch here."""

from __future__ import annotations

import argparse
import gc
import shlex
import sys
import time
from collections.abc import Sequence

from gatt.cli import path_argument
from gatt.errors import StaleError
from gatt.runs.atomic_file import atomic_write_text
from gatt.runs.provenance import provenance
from gatt.runs.values import dump_yaml
from gatt.stages.plan import add_plan_argument, print_line, show_plan
from gatt.stages.run_file import RUN_FILE, STAGES, PipelineRun, Stage, load_run

HELP = "run all stages of a file (synth, train, eval); finished stages are skipped"
TAKES_OVERRIDES = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the file."""
    parser.add_argument(
        "file",
        type=path_argument,
        metavar="FILE",
        help="YAML file of the run, or the folder of its run.yaml, or a name of `gatt configs`, such as demo",
    )
    add_plan_argument(parser)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    keys = "\n".join(f"  {name}: as `gatt {name} --help-all` lists them" for name in STAGES)
    parser.epilog = (
        "keys of the file (each can also be given here, as --train.learning_rate=1e-4):\n"
        "  output_dir: folder of the run; {run} in any text of a stage stands for it,\n"
        "    and {here} for the folder of this file\n"
        "  model: the model of every stage that names no other\n"
        f"{keys}\n"
        "A stage that the file leaves out is skipped."
    )


def run(args: argparse.Namespace) -> int:
    """Run the stages, or print their plan; an interrupted run continues."""
    run = load_run(args.file, args.overrides)
    if args.plan:
        return show_plan([(stage.name, stage.config, stage.module.PLAN) for stage in run.stages])
    execute_run(run)
    return 0


def execute_run(run: PipelineRun) -> None:
    """Check all stages, then run them in order; each stage skips finished work.

    The resolved file is written as `run.yaml` in the output folder: at once
    where there is none, over an older one only when every stage has accepted
    the folder as its own.
    """
    check_stages(run.stages)
    path = run.output_dir / RUN_FILE
    command = shlex.join(provenance()["command"])
    text = f"# Resolved configuration of: {command}\n{dump_yaml(run.as_dict())}"
    if not path.exists():
        atomic_write_text(path, text)
    began = time.monotonic()
    execute_stages(run.stages)
    atomic_write_text(path, text)
    print_line(
        f"all {len(run.stages)} stages done in {time.monotonic() - began:.0f} s: {run.output_dir}"
    )


def check_stages(stages: Sequence[Stage]) -> None:
    """Raise what can be known of stages before any of them runs."""
    for stage in stages:
        if hasattr(stage.module, "check"):
            stage.module.check(stage.config)


def execute_stages(stages: Sequence[Stage], within: str = "") -> None:
    """Run stages in order, with lines on each. What was made of other inputs is set aside and made anew.

    `within` names what the stages are part of, in front of the number of each.
    """
    for number, stage in enumerate(stages, start=1):
        print_line(f"[{within}{number}/{len(stages)}] {stage.name} -> {stage.config.output_dir}")
        started = time.monotonic()
        try:
            summary = stage.module.execute(stage.config)
        except StaleError as error:
            if not hasattr(stage.module, "renew"):
                raise
            print_line(f"      {stage.module.renew(stage.config, error)}")
            summary = stage.module.execute(stage.config)
        print_line(f"      {summary} [{time.monotonic() - started:.0f} s]")
        _free_memory()


def _free_memory() -> None:
    """Give back what a stage held: models sit in cycles that only the collector breaks."""
    gc.collect()
    if torch := sys.modules.get("torch"):
        torch.cuda.empty_cache()
