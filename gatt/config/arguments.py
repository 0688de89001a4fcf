"""Arguments of commands with `TAKES_OVERRIDES = True`: `--config`, overrides, and the table of keys."""

from __future__ import annotations

import argparse
import dataclasses
import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gatt.cli import CommandParser, path_argument
from gatt.config.load import ConfigKey, keys_of, shown


def add_config_arguments(
    parser: argparse.ArgumentParser, cls: type, first: Sequence[str] = ()
) -> None:
    """Add `--config FILE`, `--help-all`, and the configuration's keys to the help: those in `first`, or all."""
    parser.add_argument(
        "--config",
        type=path_argument,
        metavar="FILE",
        help="YAML file, or the name of one of `gatt configs`; any key can be set after it with --key=value, "
        "a list as --key=a,b",
    )
    if first:
        parser.add_argument("--help-all", action="help", help="show every configuration key")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    assert isinstance(parser, CommandParser)
    parser.make_epilog = lambda is_all: key_table(cls, () if is_all else first, parser.prog)


def key_table(cls: type, first: Sequence[str] = (), prog: str = "gatt") -> str:
    """Return the keys in `first` as text, and how `prog` shows the others; all of them where it is empty."""
    keys, where = keys_of(cls), "in the file, or here as --key=value"
    groups = [name for name, key in keys.items() if key.holds is not None]
    if first:
        others = ", ".join(["its own", *(name for name in groups if "." not in name)])
        return "\n".join([
            f"the most important configuration keys ({where}):",
            *_key_lines(keys, first),
            "",
            *_wrapped(f"`{prog} --help-all` shows all {len(keys) - len(groups)} keys: {others}."),
        ])  # fmt: skip
    own = _key_lines(keys, [name for name in keys if "." not in name])
    return "\n".join([f"configuration keys ({where}):", *own, *_group_lines(keys, groups)])


def _group_lines(keys: Mapping[str, ConfigKey], groups: Iterable[str]) -> Iterator[str]:
    """Yield the keys of nested configurations; where the same keys were shown before, their place alone."""
    places: dict[str, str] = {}
    for group in groups:
        inner = {n: key for n, key in keys.items() if n.startswith(f"{group}.")}
        same = places.setdefault(str([key[1:] for key in inner.values()]), group)
        above = group.rpartition(".")[0]
        if above and above not in places.values():
            continue
        default = " [default: null]" if keys[group].default is None else ""
        yield from ("", *_wrapped(f"{group}:{default} {keys[group].doc}".rstrip()))
        if same == group:
            yield from _key_lines(keys, [n for n in inner if "." not in n[len(group) + 1 :]])
        else:
            yield f"  {group}.*: as {same}.*"


def _wrapped(text: str, width: int = 98) -> list[str]:
    # What a reader copies must not break at a hyphen.
    return textwrap.wrap(text, width, break_on_hyphens=False)


def _key_lines(keys: Mapping[str, ConfigKey], names: Iterable[str]) -> Iterator[str]:
    for name in names:
        key = keys[name]
        if key.holds is None:
            text = json.dumps(key.default, default=str, ensure_ascii=False)
            default = "required" if key.default is dataclasses.MISSING else f"default: {text}"
            above = name.rpartition(".")[0]
            if default == "required" and above and keys[above].default is None:
                default = f"required in {above}"
            yield f"  {name}: {shown(key.annotation)}  [{default}]"
            yield from (f"      {line}" for line in _wrapped(key.doc, 94))
