"""`gatt rows`: the targets of samples as rows for another trainer, with a note how to start it."""

from __future__ import annotations

import argparse
import sys
from typing import get_args

from gatt.cli import path_argument
from gatt.commands.rows.settings import Format, add_settings, settings_of
from gatt.errors import ConfigError

HELP = "write the targets as rows for TRL, axolotl or LLaMA-Factory, with a note how to start it"

_DESCRIPTION = (
    "Write what `gatt train` would learn as rows that another trainer trains on, and beside them a note "
    "with its exact settings. Targets that a format cannot say are left out and counted by reason."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = _DESCRIPTION
    parser.add_argument(
        "samples",
        type=path_argument,
        nargs="+",
        metavar="SAMPLES.jsonl",
        help="files of `gatt synth`, or these compressed (.gz, .xz)",
    )
    parser.add_argument("--format", choices=get_args(Format), required=True, help="whose rows")
    parser.add_argument(
        "--output",
        type=path_argument,
        required=True,
        metavar="FILE.jsonl",
        help="the rows; the note is FILE.md, and FILE.jinja a chat template where one is needed",
    )
    add_settings(parser, ("model", "placement", "history", "max_length", "seed"))


def run(args: argparse.Namespace) -> int:
    """Write the rows and the note, and print the note.

    Raises:
        GattError: settings that no other trainer has, a template that cannot be used, nothing to write, or
            a file that cannot be read or written.
    """
    from gatt.commands.rows.formats import RowMaker
    from gatt.commands.rows.note import note_of
    from gatt.commands.rows.targets import refuse_controls
    from gatt.commands.rows.write import write_rows
    from gatt.models.chat_template import template_of
    from gatt.models.load import load_tokenizer
    from gatt.models.template_variables import set_template_variables
    from gatt.runs.atomic_file import atomic_write_text, refuse_unwritable
    from gatt.train.data.drop_counts import Dropped

    config = settings_of(args, args.samples)
    refuse_controls(config)
    note, template = map(args.output.with_suffix, (".md", ".jinja"))
    if args.output in (note, template):
        raise ConfigError(f"--output {args.output}: a note takes this name: expected FILE.jsonl")
    for path in (args.output, note, template):
        refuse_unwritable(path)
    tokenizer = load_tokenizer(config.model)
    own = template_of(tokenizer)
    set_template_variables(tokenizer, config.chat_template_kwargs)
    maker = RowMaker.of(args.format, tokenizer)
    dropped = Dropped()
    written = write_rows(args.output, maker, config, dropped)
    is_needed = args.format in ("trl", "axolotl") and maker.template != own
    if is_needed:
        atomic_write_text(template, maker.template)
    text = note_of(args.output, template if is_needed else None, maker, config, written)
    atomic_write_text(note, text)
    dropped.say()
    sys.stdout.write(f"{text}\n{args.output}: {written.summary(dropped)}\n{note}: this note\n")
    return 0
