"""`gatt rows`: the targets of samples as rows for another trainer, with a note on its settings."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from typing import Final

from gatt.cli import path_argument
from gatt.commands.run.folder import training_of
from gatt.commands.templates import filled
from gatt.config.arguments import add_config_arguments
from gatt.errors import ConfigError, TrainingError
from gatt.train.config import TrainConfig

HELP = "write the targets as rows for TRL, axolotl or LLaMA-Factory, with a note on their settings"

TAKES_OVERRIDES = True
_FIRST = ("model", "placement", "history", "max_length", "seed")
"""The keys that shape the rows."""
FORMATS: Final = ("trl", "trl-dpo", "trl-kto", "axolotl", "llamafactory")
OF_PAIRS: Final = ("trl-dpo", "trl-kto")
"""Formats of a target with its rejected reply."""

_ABOUT = """Write the targets that `gatt train` would learn as rows for another trainer, and beside them a note
with the settings for that trainer. Targets that a format cannot express are left out and counted by reason.
The settings are those of the run that the samples belong to, or the defaults of `gatt train`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the samples, the format, and the configuration of a training run."""
    add_config_arguments(parser, TrainConfig, _FIRST)
    parser.description = _ABOUT
    parser.add_argument(
        "samples",
        type=path_argument,
        nargs="+",
        metavar="RUN | SAMPLES.jsonl",
        help="the folder of a run of `gatt run`, or files of `gatt synth`, also compressed (.gz, .xz)",
    )
    parser.add_argument(
        "--format", choices=FORMATS, required=True, help="the trainer, and the kind of row"
    )
    parser.add_argument(
        "--output",
        type=path_argument,
        required=True,
        metavar="FILE.jsonl",
        help="file for the rows; the note is FILE.md, and a chat template, if one is needed, FILE.jinja",
    )


def run(args: argparse.Namespace) -> int:
    """Write the rows and the note, and print the note.

    Raises:
        GattError: settings that no other trainer has, a template that cannot be used, nothing to write, or
            a file that cannot be read or written.
    """
    from gatt.commands.rows.formats import RowMaker, targets_of
    from gatt.data.sample import read_all_samples
    from gatt.models.chat_template import template_of
    from gatt.models.load import load_tokenizer, resolve
    from gatt.models.template_variables import set_template_variables
    from gatt.runs.atomic_file import atomic_stream, atomic_write_text, refuse_unwritable
    from gatt.train.data.report import Dropped

    config = replace(
        training_of(args, args.samples),
        objective="preference" if args.format in OF_PAIRS else "targets",
    )
    if config.supervise != "last_turn":
        raise ConfigError(
            f"supervise is {config.supervise!r}: expected 'last_turn': the controls are for `gatt train`"
        )
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
    num_rows = num_tokens = 0
    with atomic_stream(args.output) as stream:
        for targets in targets_of(read_all_samples(config.samples), tokenizer, config, dropped):
            for target in maker.usable(targets, dropped):
                for row in maker.rows(target):
                    stream.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
                    num_rows += 1
                num_tokens = max(num_tokens, target.num_tokens)
        if not num_rows:
            raise TrainingError(
                f"no row for {maker.format}{dropped.as_text()}: loosen what drops them, or use another "
                "--format"
            )
    is_needed = args.format != "llamafactory" and maker.template != own
    if is_needed:
        atomic_write_text(template, maker.template)
    text = filled(
        f"rows/{maker.format.partition('-')[0]}.md.j2",
        kind=args.format.partition("-")[2] or "sft",
        rows=str(args.output),
        name=args.output.name,
        folder=str(args.output.parent),
        template=str(template) if is_needed else None,
        model=resolve(config.model, ("config.json", "tokenizer_config.json")),
        config=config,
        variables=dict(config.chat_template_kwargs),
        behind="" if maker.template == template_of(tokenizer) else maker.frame.behind,
        closing=maker.frame.closing,
        num_rows=num_rows,
        num_tokens=num_tokens,
    )
    atomic_write_text(note, text)
    dropped.say()
    left_out = f"{dropped.counts.total()} left out{dropped.as_text()}"
    sys.stdout.write(f"{text}\n{args.output}: {num_rows} rows; {left_out}\n{note}: this note\n")
    return 0
