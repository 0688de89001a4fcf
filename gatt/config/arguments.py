"""What a command with a configuration shares: `--config`, overrides, the table of keys.

A command module that uses it sets `TAKES_OVERRIDES = True`.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from typing import TypeVar

from gatt.config.load import Field, describe, load_config
from gatt.config.path_argument import path_argument
from gatt.config.shipped_files import config_file

T = TypeVar("T")

_WIDTH = 100


def add_config_arguments(parser: argparse.ArgumentParser, cls: type) -> None:
    """Add `--config FILE`, and the table of every configuration key to the help."""
    parser.add_argument(
        "--config",
        type=path_argument,
        metavar="FILE",
        help="YAML file, or the name of one of `gatt configs`; any key can be set after it with --key=value",
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = key_table(describe(cls))


def config_from_args(cls: type[T], args: argparse.Namespace) -> T:
    """Return the configuration of `args.config` (may be None) and `args.overrides`.

    Raises:
        ConfigError: see `load_config`, and `gatt.config.shipped_files.config_file`.
    """
    path = None if args.config is None else config_file(args.config)
    return load_config(cls, path, args.overrides)


def key_table(fields: Sequence[Field]) -> str:
    """Return the keys as text: name, type and default on a line, documentation below."""
    lines = ["configuration keys (in the file, or on the command line as --key=value):"]
    for field in fields:
        default = "required" if field.default is None else f"default: {field.default}"
        lines.append(f"  {field.name}: {field.type}  [{default}]")
        indent = " " * 6
        lines += textwrap.wrap(field.doc, _WIDTH, initial_indent=indent, subsequent_indent=indent)
    return "\n".join(lines)
