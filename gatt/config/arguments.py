"""The arguments of commands with a configuration: `--config`, overrides, and the table of keys.

A command module that uses it sets `TAKES_OVERRIDES = True`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import textwrap
from typing import TypeVar

from gatt.cli import CommandParser, path_argument
from gatt.config.keys import keys_of
from gatt.config.load import load_config
from gatt.config.shipped_files import config_file

T = TypeVar("T")


def add_config_arguments(parser: argparse.ArgumentParser, cls: type) -> None:
    """Add `--config FILE`, and the table of every configuration key to the help."""
    parser.add_argument(
        "--config",
        type=path_argument,
        metavar="FILE",
        help="YAML file, or the name of one of `gatt configs`; any key can be set after it with --key=value",
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    if isinstance(parser, CommandParser):
        parser.make_epilog = lambda: key_table(cls)


def config_from_args(cls: type[T], args: argparse.Namespace) -> T:
    """Return the configuration of `args.config` (may be None) and `args.overrides`.

    Raises:
        ConfigError: see `load_config` and `config_file`.
    """
    path = None if args.config is None else config_file(args.config)
    return load_config(cls, path, args.overrides)


def key_table(cls: type) -> str:
    """Return the keys as text: name, type and default on a line, documentation below."""
    lines = ["configuration keys (in the file, or on the command line as --key=value):"]
    for name, key in keys_of(cls).items():
        if key.holds is not None and key.default is not None:
            continue
        shown = json.dumps(key.default, default=str, ensure_ascii=False)
        default = "required" if key.default is dataclasses.MISSING else f"default: {shown}"
        lines.append(f"  {name}: {key.expected}  [{default}]")
        lines += [f"      {line}" for line in textwrap.wrap(key.doc, 94)]
    return "\n".join(lines)
