"""`gatt suite`: the suites that are shipped, and cases from what others made."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from eval.cases import multichallenge, realguardrails, s_ifeval, sysbench
from eval.records.suite import read_suite, shipped_suites, suite_path
from gatt.cli import path_argument
from gatt.errors import StoreError
from gatt.runs.atomic_file import atomic_stream, atomic_write_text
from gatt.runs.input_file import refuse_compressed
from gatt.runs.values import dump_yaml

HELP = "list and show the suites of the evaluation, or make cases from other benchmarks"


_IMPORTERS: Mapping[str, Callable[[argparse.Namespace], list[dict[str, Any]]]] = {
    "ifeval": lambda args: _ifeval(args, 0),
    "multichallenge": lambda args: multichallenge.import_cases(args.path, args.axis),
    "realguardrails": lambda args: realguardrails.import_cases(args.path),
    "s-ifeval": lambda args: _ifeval(args, 19),
    "sysbench": lambda args: sysbench.import_cases(args.path),
}
_JUDGE_PROMPTS: Mapping[str, Path] = {"multichallenge": multichallenge.JUDGE_PROMPT}
"""Rules and questions that a benchmark's cases need; a copy is written beside them."""


def _ifeval(args: argparse.Namespace, default: int) -> list[dict[str, Any]]:
    exchanges = default if args.exchanges is None else args.exchanges
    return s_ifeval.import_cases(args.path, exchanges, args.num, args.seed, args.benchmark)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions `import`, `list` and `show`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="import | list | show")
    imported = actions.add_parser(
        "import", help="make a case file from a local copy of a benchmark"
    )
    imported.add_argument(
        "benchmark", choices=tuple(_IMPORTERS),
        help="s-ifeval: 541 system messages with constraints that the package if-verifiable judges, behind any "
        "number of exchanges (arXiv:2502.12197); ifeval: the same constraints in the user's message, "
        "without an instruction (arXiv:2311.07911); realguardrails: system messages with guardrails behind "
        "unrelated turns (same source); multichallenge: conversations with a question about the last reply "
        "(arXiv:2501.17399); sysbench: system messages with five turns and a checklist a turn "
        "(arXiv:2408.10943)",
    )  # fmt: skip
    imported.add_argument(
        "path", type=path_argument, metavar="FOLDER_OR_FILE", help="the local copy"
    )
    imported.add_argument(
        "--output", type=path_argument, required=True, metavar="CASES.jsonl",
        help="file to write; it must not exist",
    )  # fmt: skip
    imported.add_argument(
        "--exchanges", type=int, metavar="N",
        help="s-ifeval, ifeval: exchanges of questions and small talk before the prompt (default 19, the "
        "prompt is turn 20; ifeval 0)",
    )  # fmt: skip
    imported.add_argument(
        "--num",
        type=int,
        metavar="N",
        help="s-ifeval, ifeval: number of prompts, drawn at random (default: all)",
    )
    imported.add_argument(
        "--seed", type=int, default=0, help="s-ifeval, ifeval: seed of prompts and exchanges (0)"
    )
    imported.add_argument(
        "--axis", choices=(*multichallenge.AXES, "all"), default=multichallenge.AXES[0],
        help=f"multichallenge: what the conversations demand (default {multichallenge.AXES[0]})",
    )  # fmt: skip
    actions.add_parser("list", help="list the shipped suites")
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
    refuse_compressed(args.output)
    prompt = _JUDGE_PROMPTS.get(args.benchmark)
    prompt_copy = args.output.with_name(f"{args.output.stem}_judge.yaml")
    if prompt and prompt_copy.exists():
        raise StoreError(f"{prompt_copy}: exists already: give another --output, or move it away")
    cases = _IMPORTERS[args.benchmark](args)
    num_turns = 0
    with atomic_stream(args.output) as stream:
        for case in cases:
            stream.write(json.dumps(case, ensure_ascii=False).encode() + b"\n")
            num_turns += sum(message["role"] == "user" for message in case["messages"])
    sys.stdout.write(f"{args.output}: {len(cases)} cases, {num_turns} turns\n")
    if prompt:
        atomic_write_text(prompt_copy, prompt.read_text(encoding="utf-8"))
        sys.stdout.write(f"{prompt_copy}: what their judge reads: --judge.prompt={prompt_copy}\n")
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
