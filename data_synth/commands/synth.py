"""`gatt synth`: make GAtt samples from dialogues and the catalogue."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from data_synth.config import SynthConfig
from gatt.config.arguments import add_config_arguments
from gatt.config.load import load_config
from gatt.errors import DataError
from gatt.generation.cluster.config import add_workers_argument, with_workers
from gatt.stages.plan import add_plan_argument, print_line, show_plan

HELP = "make training samples: put instructions on dialogues and sample replies that follow them"
TAKES_OVERRIDES = True
CONFIG = SynthConfig
MODEL = "teacher.engine.model"
"""The key that a run sets for all its stages."""
PLAN = "data_synth.commands.synth_plan"
"""Module whose `planned` says what `--plan` prints."""
FIRST = (
    "output_dir", "num_samples", "source.name", "source.path", "instructions.catalog",
    "instructions.families", "teacher.engine.model", "teacher.engine.server.urls", "teacher.brief",
    "teacher.sampling.max_new_tokens",
)  # fmt: skip
"""The keys that matter first."""

_ABOUT = f"""{HELP}

  gatt synth --config FILE                 the whole run; continues where it was stopped
  gatt synth --config FILE --workers 4     with 4 processes of this machine"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the configuration's arguments and the number of workers."""
    add_config_arguments(parser, SynthConfig, FIRST)
    parser.description = _ABOUT
    add_workers_argument(parser)
    add_plan_argument(parser)


def execute(config: SynthConfig) -> str:
    """Make the samples and return one line with their counts, after a look at the targets.

    Raises:
        DataError: the targets would teach a formula (`formula_limit`); they stay where they are.
    """
    from data_synth.gate import look_at
    from data_synth.pipeline import run_synth

    result = run_synth(config)
    look = look_at(result.samples)
    for line in look.lines():
        print_line(line)
    limit = config.formula_limit
    if limit is not None and (formula := look.formula(limit)):
        raise DataError(
            f"{result.samples}: {formula}, more than {limit:.0%}: a model would learn that formula. Write more "
            "phrasings (`utterances`), take a larger teacher or other dialogues, or go on with "
            "formula_limit=null"
        )
    return str(result)


def run(args: argparse.Namespace) -> int:
    """Make the samples; a run that was interrupted goes on."""
    config = load_config(SynthConfig, args.config, args.overrides)
    config = replace(config, ray=with_workers(config.ray, args.workers))
    if args.plan:
        return show_plan([("synth", config, PLAN)])
    sys.stdout.write(execute(config) + "\n")
    return 0
