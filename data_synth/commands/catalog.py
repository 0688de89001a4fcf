"""`gatt catalog`: look at the catalogue, check it, ask a model for more of it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gatt.cli import path_argument
from gatt.data.catalog.read import (
    Catalog,
    catalog_files,
    default_catalog_path,
    load_catalog,
    read_yaml,
    use_own_kinds,
)
from gatt.data.instruction import SPLITS
from gatt.errors import CatalogError, StoreError
from gatt.runs.atomic_file import atomic_write_text, refuse_unwritable

# Tables and checks are imported where they are used: `gatt --help` imports this module.
if TYPE_CHECKING:
    from rich.table import Table

HELP = "list and check instructions and the verifiers of replies, or ask a model for new entries"
EXIT_PROBLEMS = 2
ASKED_FAMILIES = ("hobby", "figure")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions `list`, `kinds`, `check` and `ask`."""
    actions = parser.add_subparsers(
        dest="action", required=True, metavar="list | kinds | check | ask"
    )
    shown = actions.add_parser("list", help="families with their counts, or one family's entries")
    shown.add_argument("--family", help="show the entries of this family")
    shown.add_argument("--split", choices=SPLITS, help="only entries of this split")
    kinds = actions.add_parser(
        "kinds", help="every kind of verifier: its parameters, a reply that passes, one that fails"
    )
    kinds.add_argument("kind", nargs="*", help="only these kinds")
    kinds.add_argument("--markdown", action="store_true", help="as the page of the reference")
    checked = actions.add_parser(
        "check", help="run every verifier against its known-good, known-bad and junk replies"
    )
    for action in (shown, kinds, checked):
        action.add_argument(
            "--catalog",
            type=path_argument,
            help="a YAML file or a folder of them (default: shipped); Python files that it names under "
            "'verifiers' are run",
        )
    asked = actions.add_parser(
        "ask",
        help="ask a model for hobbies or figures, keep those it can tell something right about",
    )
    asked.add_argument("--family", choices=ASKED_FAMILIES, required=True)
    asked.add_argument(
        "--num_values", type=int, default=20, help="most values to keep (default: 20)"
    )
    who = asked.add_mutually_exclusive_group()
    who.add_argument("--model", help="embedded model, folder or hub id (default: embedded)")
    who.add_argument(
        "--config",
        type=path_argument,
        metavar="FILE",
        help="a configuration of `gatt synth`: the model of its teacher is asked, over servers too",
    )
    asked.add_argument(
        "--output", type=path_argument, required=True, help="YAML file to write; must be new"
    )
    asked.add_argument("--seed", type=int, default=0, help="seed of the sampling (default: 0)")
    asked.add_argument(
        "--unverified",
        action="store_true",
        help="also write drafts of values outside the catalogue on which two answers of the model "
        "agree; that does not make them right, so look them over (default: leave them out)",
    )


def run(args: argparse.Namespace) -> int:
    """Run the action and return its exit status; 2 where the check found problems."""
    if args.action == "list":
        return _list(args.catalog or default_catalog_path(), args.family, args.split)
    if args.action == "kinds":
        return _kinds(args.kind, args.catalog, is_markdown=args.markdown)
    if args.action == "check":
        return _check(args.catalog or default_catalog_path())
    return _ask(args)


def _list(place: Path, family: str | None, split: str | None) -> int:
    catalog = load_catalog(place)
    entries = catalog.select([family] if family else (), [split] if split else ())
    chosen = Catalog(entries, catalog.conflicts, catalog.about)
    _print(_entry_table(chosen) if family else _family_table(chosen))
    return 0


def _kinds(names: Sequence[str], place: Path | None, *, is_markdown: bool) -> int:
    from gatt.verifiers.describe import as_markdown, as_text, describe
    from gatt.verifiers.table import all_kinds

    if place:
        for path in catalog_files(place):
            use_own_kinds(path, read_yaml(path))
    form = as_markdown if is_markdown else as_text
    sys.stdout.write("\n".join(form(describe(kind)) for kind in names or all_kinds()))
    return 0


def _check(place: Path) -> int:
    from data_synth.catalog.check import check_catalog

    report = check_catalog(place)
    _print(_family_table(Catalog(report.entries)))
    for problem in report.problems:
        sys.stdout.write(f"{problem}\n")
    found = f"{len(report.problems)} problems" if report.problems else "no problem"
    sys.stdout.write(f"{place}: {found} in {report.num_replies} replies\n")
    return EXIT_PROBLEMS if report.problems else 0


def _ask(args: argparse.Namespace) -> int:
    if args.num_values < 1:
        raise CatalogError(f"--num_values is {args.num_values}: expected at least 1")
    if args.output.exists():
        raise StoreError(
            f"{args.output}: exists already: give a new file to --output, or move it away"
        )
    refuse_unwritable(args.output)
    # A torch import takes seconds: `list`, `check` and `--help` do without it.
    from data_synth.catalog.ask import as_catalog_yaml, ask
    from data_synth.config import SynthConfig
    from gatt.config.load import load_config
    from gatt.config.shipped_files import config_file
    from gatt.generation.config import EngineConfig, make_engine

    config = EngineConfig()
    if args.config is not None:
        config = load_config(SynthConfig, config_file(args.config)).teacher.engine
    elif args.model:
        config = EngineConfig(model=args.model)
    engine = make_engine(config)
    values = ask(engine, args.family, args.num_values, args.seed, keep_unverified=args.unverified)
    if not values:
        drafts = "" if args.unverified else ", or --unverified for drafts to look over"
        raise CatalogError(
            f"the model named no {args.family} of the catalogue that it can tell something right "
            f"about: try another --seed or a larger --model{drafts}"
        )
    atomic_write_text(args.output, as_catalog_yaml(args.family, values))
    num_unverified = sum(value.is_unverified for value in values)
    sys.stdout.write(f"{args.output}: {len(values)} values, {num_unverified} of them unverified\n")
    return 0


def _family_table(catalog: Catalog) -> Table:
    from rich.markup import escape
    from rich.table import Table

    from data_synth.catalog.check import count_by_split

    table = Table("family", *SPLITS, "total", "about")
    for column in table.columns[1:-1]:
        column.justify = "right"
    counts = count_by_split(catalog.entries)
    for family, of_family in counts.items():
        numbers = [str(of_family[split]) for split in SPLITS]
        about = escape(catalog.about.get(family, ""))
        table.add_row(escape(family), *numbers, str(of_family.total()), about)
    totals = [str(sum(of_family[split] for of_family in counts.values())) for split in SPLITS]
    table.add_section()
    table.add_row("all", *totals, str(len(catalog.entries)), "")
    return table


def _entry_table(catalog: Catalog) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table("id", "value", "terse", "verifiers", "probes", "split")
    for entry in catalog.entries:
        kinds = ", ".join(dict.fromkeys(spec.kind for spec in entry.verifiers))
        texts = (entry.id, entry.value, entry.terse, kinds, str(len(entry.probes)), entry.split)
        table.add_row(*map(escape, texts))
    return table


def _print(table: Table) -> None:
    from rich.console import Console

    Console().print(table)
