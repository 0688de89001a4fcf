"""`gatt configs`: what configurations come with the package."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gatt.config.load import config_file, shipped_configs

HELP = "list the configurations that come with the package, or print one to start from"

_DESCRIPTION = (
    "Without a name, list them. With one, print the file: `gatt configs demo > mine.yaml`. "
    "`gatt run` and every --config take the name in place of a file."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the name."""
    parser.description = _DESCRIPTION
    parser.add_argument("name", nargs="?", metavar="NAME", help="such as demo or train/default")
    parser.add_argument(
        "--path", action="store_true", help="print where the file is, for other programs"
    )


def run(args: argparse.Namespace) -> int:
    """Print the list, a file, or its path."""
    if args.name is None:
        known = shipped_configs()
        width = max(map(len, known), default=0)
        lines = [
            str(path) if args.path else f"{name:<{width}}  {_about(path)}".rstrip()
            for name, path in known.items()
        ]
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        return 0
    path = config_file(Path(args.name))
    if args.path:
        sys.stdout.write(f"{path}\n")
    else:
        # Bytes: the output is redirected into a file, and no encoding may change it.
        sys.stdout.buffer.write(path.read_bytes())
    return 0


def _about(path: Path) -> str:
    """Return the first line of a file's opening comment, empty without one."""
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix("#").strip() if first.startswith("#") else ""
