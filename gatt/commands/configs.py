"""`gatt configs`: what configurations come with the package."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gatt.config.load import config_file, shipped_configs

HELP = "list the configurations that come with the package, or print one to start from"

_DESCRIPTION = (
    "Without a name, list the configurations that come with the package. With a name, print that file: "
    "`gatt configs smollm2 > mine.yaml`. `gatt run` and every --config take a name in place of a file."
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
    if args.name is not None:
        path = config_file(Path(args.name))
        # Bytes: the output is redirected into a file, and no encoding may change it.
        text = f"{path}\n".encode() if args.path else path.read_bytes()
        sys.stdout.buffer.write(text)
        return 0
    shipped = shipped_configs()
    for name, path in shipped.items():
        # The first line of each file says what it is.
        about = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("#").strip()
        line = str(path) if args.path else f"{name:<{max(map(len, shipped))}}  {about}"
        sys.stdout.write(f"{line}\n")
    return 0
