"""The console command `gatt`: sub-commands are entry points of the group `gatt.commands`.

A command module has `HELP` (one line), `add_arguments(parser)` and
`run(args) -> int`; importing it must be light. With `TAKES_OVERRIDES = True`,
`args.overrides` holds the dotted overrides of its configuration; without it
`args.overrides` is empty and any unknown argument is an error.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import io
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NoReturn

from gatt.errors import ConfigError, GattError, ToldByMainError
from gatt.runs.atomic_file import NO_SPACE
from gatt.runs.environment import prepare_environment
from gatt.runs.suggest import did_you_mean

GROUP = "gatt.commands"
EXIT_USER_ERROR = 2
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
IN_ORDER: Final = (
    "init", "run", "improve", "synth", "train", "eval", "report", "chat", "export", "push",
)  # fmt: skip
"""The main commands in the order of the work; the help lists all others after them."""
_OVERVIEW: Final = """usage: gatt [--version] [--debug] <command> ...

Ghost Attention: make the data, fine-tune with LoRA, and measure whether the
instruction still holds many turns later.
{commands}

options:
  --version  print the version
  --debug    show the traceback of an error

`gatt <command> --help` explains a command and its most important configuration keys.
Commands with many keys list all of them with `--help-all`.
"""


class CommandParser(argparse.ArgumentParser):
    """A parser whose mistakes are `ConfigError`, so that they print as one line."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # An abbreviated option would shadow a dotted override that begins like it.
        super().__init__(*args, **{**kwargs, "allow_abbrev": False})
        self.is_all = False
        """Whether the help names every configuration key."""
        self.make_epilog: Callable[[bool], str] | None = None
        """Returns the end of the help, with all keys or with the first ones; set where making it is slow."""

    def format_help(self) -> str:
        """Return the help."""
        epilog = self.epilog
        if self.make_epilog is not None:
            self.epilog = f"{epilog or ''}{self.make_epilog(self.is_all)}"
        text = super().format_help()
        self.epilog = epilog
        return text

    def error(self, message: str) -> NoReturn:
        """Raise the message.

        Raises:
            ConfigError: always, with the way to the help.
        """
        raise ConfigError(f"{message} (see `{self.prog} --help`)")


def path_argument(text: str) -> Path:
    """Return a path with `~` expanded, which a shell leaves as it is in `--key=~/x`.

    Raises:
        ArgumentTypeError: it is empty, holds a NUL, or names the home of an unknown user.
    """
    if not text.strip() or "\0" in text:
        raise argparse.ArgumentTypeError(f"{text!r} is no path: expected a file or a folder")
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise argparse.ArgumentTypeError(
            f"{text}: no user of that name has a home folder"
        ) from None


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Errors that a user can mend print as one line and return 2 (`--debug` shows
    the traceback too); an interrupt returns 130; bugs propagate.

    `argv` are the words after `gatt`; those of the process where None.
    """
    prepare_environment()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What the output's encoding lacks is escaped, as on stderr: ASCII lacks much, and UTF-8
        # halves of surrogate pairs, which models write and file names hold.
        sys.stdout.reconfigure(errors="backslashreplace")
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        status = _run(words)
        sys.stdout.flush()
    except ToldByMainError:
        return EXIT_USER_ERROR
    except KeyboardInterrupt:
        return _say("interrupted; start the same command again to continue", EXIT_INTERRUPTED)
    except BrokenPipeError:
        _close_stdout()
        return EXIT_BROKEN_PIPE
    except (GattError, MemoryError, OSError) as error:
        message = _message(error)
        if message is None:
            raise
        if "--debug" in words:
            traceback.print_exc()
        # Control characters are escaped: what a file holds must not steer the terminal.
        shown = (c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(message.split()))
        return _say("".join(shown), EXIT_USER_ERROR)
    return status


def _message(error: GattError | MemoryError | OSError) -> str | None:
    """Return what a user reads of an error, None for a bug."""
    if isinstance(error, MemoryError):
        return "out of memory: lower what was set so large, or free some"
    if not isinstance(error, OSError):
        return str(error)
    place = error.filename
    if error.errno not in NO_SPACE:
        return None if place is None else f"{place}: {error.strerror}: mend the path or its rights"
    if place is None and _is_stdout_full():
        return (
            "standard output: no space left on its device, so its text is not complete: send it "
            "elsewhere and start the same command again"
        )
    place = place or "the output folder"
    return f"{place}: no space left: free some space and start the same command again"


def commands() -> dict[str, importlib.metadata.EntryPoint]:
    """Return the entry point of each command, by its name."""
    return {entry.name: entry for entry in importlib.metadata.entry_points(group=GROUP)}


def load_command(entry: importlib.metadata.EntryPoint) -> ModuleType:
    """Return the module of a command.

    Raises:
        GattError: something that it imports is missing.
    """
    try:
        return importlib.import_module(entry.module)
    except ImportError as error:
        raise GattError(
            f"command {entry.name!r} cannot be loaded: {error}: install what is missing"
        ) from error


def _run(words: list[str]) -> int:
    entries = commands()
    parser = CommandParser(prog="gatt", add_help=False)
    parser.add_argument("-h", "--help", "--help-all", action="store_true")
    parser.add_argument("--version", action="store_true")
    parser.add_argument("--debug", action="store_true")
    split = next((i for i, word in enumerate(words) if not word.startswith("-")), len(words))
    options, unknown = parser.parse_known_args(words[:split])
    if unknown:
        raise ConfigError(_unknown(parser, unknown[0]))
    if options.version:
        sys.stdout.write(f"gatt {importlib.metadata.version('ghost-attention')}\n")
        return 0
    if options.help or split == len(words):
        sys.stdout.write(_overview(entries))
        return 0 if options.help else EXIT_USER_ERROR
    name, *words = words[split:]
    if name not in entries:
        hint = did_you_mean(name, entries, f" (known: {', '.join(sorted(entries))})")
        raise ConfigError(f"unknown command {name!r}{hint}")
    module = load_command(entries[name])
    args = _parse(module, name, words)
    return 0 if args is None else int(module.run(args))


def _overview(entries: Mapping[str, importlib.metadata.EntryPoint]) -> str:
    """Return the top-level help: one line a command, in the order of the work."""
    further = [name for name in entries if name not in IN_ORDER]
    parts = {"commands, in the order of the work": IN_ORDER, "further commands": further}
    lines = []
    for title, names in parts.items():
        lines += ["", f"{title}:"]
        for name in filter(entries.__contains__, names):
            try:
                text = str(load_command(entries[name]).HELP)
            except GattError as error:
                text = f"({error})"
            lines.append(f"  {name:<{max(map(len, entries)) + 2}}{text}")
    return _OVERVIEW.format(commands="\n".join(lines))


def _parse(module: ModuleType, name: str, words: Sequence[str]) -> argparse.Namespace | None:
    """Return the arguments of a command, or None once its help is printed."""
    parser = CommandParser(prog=f"gatt {name}", description=module.HELP)
    module.add_arguments(parser)
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    # An option may be spelled with "_" or "-".
    spelled = {option.replace("_", "-"): option for option in _options(parser)}
    pairs = [word.partition("=") for word in words if word != "--debug"]
    words = [spelled.get(o.replace("_", "-"), o) + equals + value for o, equals, value in pairs]
    parser.is_all = "--help-all" in words
    overrides: list[str] = []
    takes_overrides = getattr(module, "TAKES_OVERRIDES", False)
    try:
        if takes_overrides:
            words, overrides = split_overrides(parser, words)
        args, unknown = parser.parse_known_args(words)
    except SystemExit:
        return None
    for word in unknown:
        if not takes_overrides or not re.match(r"[A-Za-z_][\w.-]*=", word):
            raise ConfigError(_unknown(parser, word))
    args.overrides = overrides + unknown
    return args


def split_overrides(
    parser: argparse.ArgumentParser, words: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the words of a command without its overrides, and these as `--a.b=value`.

    Whatever begins with `--` and is no option of the parser is an override. It
    is taken out first, because argparse would hand its value to a positional.
    """
    options = set(_options(parser))
    left: list[str] = []
    overrides: list[str] = []
    items = iter(range(len(words)))
    for index in items:
        word = words[index]
        key, equals, _ = word.partition("=")
        if not word.startswith("--") or word == "--" or key in options:
            left.append(word)
            continue
        if not equals and index + 1 < len(words) and not words[index + 1].startswith("--"):
            word = f"{word}={words[next(items)]}"
        overrides.append(word)
    return left, overrides


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield every option of a parser and of its sub-parsers."""
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _options(inner)


def _unknown(parser: argparse.ArgumentParser, word: str) -> str:
    option, options = word.partition("=")[0], set(_options(parser))
    hint = did_you_mean(option, options, f" (see `{parser.prog} --help`)")
    return f"unknown argument {word!r}{hint}"


def _say(message: str, status: int) -> int:
    # The reader of stdout may be gone or its disk full; what is left there must not raise again at exit.
    try:
        sys.stdout.flush()
    except OSError:
        _close_stdout()
    with contextlib.suppress(OSError):
        sys.stderr.write(f"gatt: {message}\n")
        sys.stderr.flush()
    return status


def _is_stdout_full() -> bool:
    """Whether it was standard output that had no space: a blank line more meets that again."""
    try:
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError as error:
        return error.errno in NO_SPACE
    return False


def _close_stdout() -> None:
    """Point stdout to nothing, so that the flush at exit does not raise a second time."""
    with contextlib.suppress(io.UnsupportedOperation):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
