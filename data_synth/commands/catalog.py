"""`gatt catalog`: look at the catalogue and at the kinds of verifiers, and check both."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gatt.cli import path_argument
from gatt.data.catalog.read import Catalog, default_catalog_path, load_catalog
from gatt.data.instruction import SPLITS

# Tables and checks are imported where they are used: `gatt --help` imports this module.
if TYPE_CHECKING:
    from rich.table import Table

HELP = "list and check instructions and verifiers"
EXIT_PROBLEMS = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions `list`, `kinds` and `check`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="list | kinds | check")
    shown = actions.add_parser("list", help="list every entry, and count those of each family")
    kinds = actions.add_parser(
        "kinds", help="list every kind of verifier: parameters, a reply that passes, one that fails"
    )
    kinds.add_argument("kind", nargs="*", help="only these kinds")
    kinds.add_argument(
        "--markdown", action="store_true", help="print Markdown, as the reference has it"
    )
    checked = actions.add_parser(
        "check",
        help="run every verifier on replies that must pass and on replies that must fail; without --catalog "
        "also check the bank of questions",
    )
    for action in (shown, kinds, checked):
        action.add_argument(
            "--catalog",
            type=path_argument,
            help="a YAML file or a folder of them (default: shipped); Python files that it names under "
            "'verifiers' are run",
        )


def run(args: argparse.Namespace) -> int:
    """Run the action and return its exit status; 2 where the check found problems."""
    place = args.catalog or default_catalog_path()
    if args.action == "check":
        return _check(place, is_shipped=args.catalog is None)
    if args.action == "list":
        catalog = load_catalog(place)
        sys.stdout.write("".join(f"{line}\n" for line in _entry_lines(catalog)))
        _print(_family_table(catalog))
        return 0
    from gatt.verifiers.describe import as_markdown, as_text, describe
    from gatt.verifiers.table import all_kinds

    if args.catalog:
        load_catalog(place)  # Runs the Python files that it names.
    form = as_markdown if args.markdown else as_text
    sys.stdout.write("\n".join(form(describe(kind)) for kind in args.kind or all_kinds()))
    return 0


def problems_of(place: Path) -> list[str]:
    """Return what is wrong with the entries of one catalogue; `gatt init` asks after it wrote one."""
    from data_synth.catalog_check import check_entry

    entries = load_catalog(place).entries
    return [f"{entry.id}: {problem}" for entry in entries for problem in check_entry(entry)]


def _check(place: Path, is_shipped: bool) -> int:
    from data_synth.catalog_check import check_catalog

    entries, problems = check_catalog(place)
    _print(_family_table(Catalog(entries)))
    if is_shipped:
        from gatt.data.bank.check import check_bank
        from gatt.data.bank.read import load_bank

        problems += [f"bank {problem}" for problem in check_bank()]
        sys.stdout.write(f"{load_bank().counts()}\n")
    summary = f"{len(problems)} problems" if problems else "no problem"
    sys.stdout.write("".join(f"{line}\n" for line in (*problems, f"{place}: {summary}")))
    return EXIT_PROBLEMS if problems else 0


def _entry_lines(catalog: Catalog) -> Iterator[str]:
    """Yield a line for each entry: id, split, value, and the kinds of its verifiers."""
    longest = max(len(entry.id) for entry in catalog.entries)
    for entry in catalog.entries:
        kinds = ", ".join(dict.fromkeys(spec.kind for spec in entry.verifiers))
        others = f" and {len(entry.variants) - 1} other forms" if entry.variants else ""
        yield f"{entry.id:<{longest}}  {entry.split:<14}  {entry.value}{others} ({kinds})"


def _family_table(catalog: Catalog) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table("family", *SPLITS, "total", "about")
    for column in table.columns[1:-1]:
        column.justify = "right"
    for family in (*catalog.families, ""):
        splits: Counter[str] = Counter(e.split for e in catalog.entries if family in ("", e.family))
        numbers = [str(num) for num in (*(splits[name] for name in SPLITS), splits.total())]
        if not family:
            table.add_section()
        table.add_row(escape(family or "all"), *numbers, escape(catalog.about.get(family, "")))
    return table


def _print(table: Table) -> None:
    from rich.console import Console

    Console().print(table)
