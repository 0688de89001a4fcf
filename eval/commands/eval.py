"""`gatt eval`: measure whether the instruction still holds."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from eval.config import EvalConfig
from gatt.config.arguments import add_config_arguments
from gatt.config.load import config_dict, load_config
from gatt.data.instruction import Instruction
from gatt.errors import StaleError
from gatt.generation.cluster.config import add_workers_argument, with_workers
from gatt.generation.servers.config import ServerConfig
from gatt.stages.plan import add_plan_argument, show_plan

HELP = "measure instruction adherence over many turns, arms side by side, and write the report"
TAKES_OVERRIDES = True
CONFIG = EvalConfig
MODEL = "engine.model"
"""The key that a run sets for all its stages."""
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
    """Refuse an evaluation whose cases cannot be made, or that would measure nothing."""
    from eval.run import check_cases

    check_cases(config)


def renew(config: EvalConfig, error: StaleError) -> str:
    """Set aside the replies that an error found to be stale, and return one line on them."""
    from eval.rollout.stale import renew as renew_folder

    return renew_folder(config.output_dir, error.parts)


def changes(config: EvalConfig, arm: str) -> list[dict[str, Any]]:
    """Return what changed from the baseline to an arm of a finished evaluation, see `eval.results.changes`."""
    from dataclasses import asdict

    from eval.records.samples import RESULTS_FILE
    from eval.results import changes as found
    from gatt.runs.input_file import read_json

    results = read_json(config.output_dir / RESULTS_FILE)
    return [asdict(change) for change in found.changes(results, arm)]


def execute(config: EvalConfig) -> str:
    """Run the evaluation, print its table and some dialogues; return one line on what is there."""
    from rich.console import Console
    from rich.text import Text

    from eval.report.tables.written import side_by_side, terminal_table
    from eval.results.undecided import notes_of_undecided
    from eval.run import evaluate

    result = evaluate(config)
    console = Console()
    for line in result.results["checks"]:
        console.print(Text(f"! {line}", style="bold yellow"), soft_wrap=True)
    for line in notes_of_undecided(result.samples, config.sampling.max_new_tokens):
        console.print(line, soft_wrap=True, markup=False, highlight=False)
    console.print(terminal_table(result.results))
    for part in result.results["parts"]:
        if part["is_judged"] and part["arm"] in config.adapters:
            rate = f"{part['num_kept']} of {part['num_replies']}"
            console.print(
                f'{part["arm"]}: {rate}{" where asked for" if part["is_asked_for"] else ""}: "{part["part"]}"',
                soft_wrap=True, markup=False, highlight=False,
            )  # fmt: skip
    unjudged = dict.fromkeys(p["part"] for p in result.results["parts"] if not p["is_judged"])
    for about in unjudged:
        console.print(f'NOT judged: "{about}"', soft_wrap=True, markup=False, highlight=False)
    trained = [arm for arm in config.arms if arm in config.adapters]
    other = next((arm for arm in trained if arm != config.compared_with), None)
    if other is not None:
        for table in side_by_side(result.results, result.samples):
            console.print(table)
        instruction = next((s.instruction for s in result.samples if s.instruction), None)
        if instruction is not None and len(instruction.entries) == 1:
            console.print(
                chat_line(config, other, instruction), soft_wrap=True, markup=False, highlight=False
            )
    how = "replies judged again" if config.replies_from else "new replies"
    state = f"{result.num_new} {how}" if result.num_new else "all replies stood there already"
    return f"{result.report} ({state}{_from_cache(result.results['run']['tokens'])})"


def _from_cache(tokens: Mapping[str, int]) -> str:
    """Return the share of prompt tokens that the server had encoded before; empty if it does not say so."""
    if not tokens.get("num_cached_tokens"):
        return ""
    share = tokens["num_cached_tokens"] / tokens["num_prompt_tokens"]
    return f", {share:.0%} of the prompt tokens from the server's prefix cache"


def chat_line(config: EvalConfig, arm: str, instruction: Instruction) -> str:
    """Return the command that talks to an arm under an instruction.

    An entry of the catalogue is named, since its rules then judge the replies. The instruction of a case
    of the user's own stands in no catalogue: its text is given.
    """
    engine, adapter = config.engine, str(config.adapters[arm])
    words = ["gatt", "chat", "--model", engine.model, "--adapter", adapter]
    if engine.server is not None and not engine.has_weights:
        default = ServerConfig(urls=engine.server.urls)
        words += [f"--server={url}" for url in engine.server.urls]
        for name, value in config_dict(engine.server).items():
            if name != "urls" and value != config_dict(default)[name]:
                words.append(f"--server-setting={name}={json.dumps(value)}")
    catalog = [f"--catalog={path}" for path in config.instructions.catalog]
    (entry,) = instruction.entries
    listed = {(e.id, e.family) for e in config.instructions.load().entries}
    is_listed = (entry, instruction.family) in listed
    words += [f"--entry={entry}", *catalog] if is_listed else [f"--instruction={instruction.text}"]
    return f"Talk to it: {shlex.join(words)}"


def run(args: argparse.Namespace) -> int:
    """Evaluate; a run that was interrupted is continued."""
    config = load_config(EvalConfig, args.config, args.overrides)
    config = replace(config, ray=with_workers(config.ray, args.workers))
    if args.plan:
        return show_plan([("eval", config, PLAN)])
    sys.stdout.write(execute(config) + "\n")
    return 0
