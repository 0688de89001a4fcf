"""`gatt suite`: the suites that are shipped, and cases from what others made."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from eval.cases.importers.imported import IMPORTERS, import_cases, write_cases
from eval.records.suite import read_suite, shipped_suites, suite_path
from gatt.cli import path_argument
from gatt.errors import StoreError
from gatt.runs.yaml_file import dump_yaml

HELP = "list and show the suites of the evaluation, or make cases of what others made"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions `import`, `list` and `show`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="import | list | show")
    imported = actions.add_parser("import", help="make a case file of a local copy of a benchmark")
    imported.add_argument(
        "benchmark",
        metavar="BENCHMARK",
        help="; ".join(f"{name}: {about}" for name, (about, _) in IMPORTERS.items()),
    )
    imported.add_argument(
        "path", type=path_argument, metavar="FOLDER_OR_FILE", help="the local copy"
    )
    imported.add_argument(
        "--output", type=path_argument, required=True, metavar="CASES.jsonl",
        help="file to write; must be new",
    )  # fmt: skip
    imported.add_argument(
        "--num-turns", type=int, metavar="N",
        help="persona_drift: turns of a case (default: 8)",
    )  # fmt: skip
    imported.add_argument("--seed", type=int, help="persona_drift: seed of the draw (default: 0)")
    actions.add_parser("list", help="names of the suites that are shipped, and what they are about")
    shown = actions.add_parser("show", help="print a suite")
    shown.add_argument("suite", metavar="NAME | FILE", help="a shipped suite, or a YAML file")


def run(args: argparse.Namespace) -> int:
    """Run the action and return its exit status."""
    if args.action == "import":
        return _import(args)
    return _list() if args.action == "list" else _show(args.suite)


def _import(args: argparse.Namespace) -> int:
    if args.output.exists():
        raise StoreError(
            f"{args.output}: exists already: give a new file to --output, or move it away"
        )
    cases = import_cases(args.benchmark, args.path, num_turns=args.num_turns, seed=args.seed)
    write_cases(args.output, cases)
    num_turns, by = 0, Counter[str]()
    for case in cases:
        roles = [message["role"] for message in case.get("messages", ())]
        num_turns += roles.count("user") + len(case.get("user_turns", ()))
        by.update(constraint["by"] for constraint in case["constraints"])
    told = ", ".join(f"{number} by {kind}" for kind, number in sorted(by.items()))
    sys.stdout.write(f"{args.output}: {len(cases)} cases, {num_turns} turns\nconstraints: {told}\n")
    return 0


def _list() -> int:
    table = Table("suite", "about")
    for name, path in shipped_suites().items():
        table.add_row(escape(name), escape(str(read_suite(path).values.get("about", ""))))
    Console().print(table)
    return 0


def _show(suite: str) -> int:
    # UTF-8, whatever the terminal can show: the output is redirected into configuration files.
    sys.stdout.buffer.write(dump_yaml(read_suite(suite_path(suite)).values).encode())
    return 0
