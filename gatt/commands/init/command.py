"""`gatt init`: files to start from, for a model and a sentence that must hold."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gatt.cli import path_argument
from gatt.errors import ConfigError

HELP = "write a working start into a folder: run.yaml, catalog.yaml and example dialogues"
EXAMPLE = "Always answer in French."
_MOST_CHARACTERS = 2_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the folder, the model and the sentence."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = (
        f"{HELP}\n\n"
        '  gatt init mybot --model qwen2.5-coder-0.5b-instruct --instruction "Always ask for the order number."\n'
        "  gatt run mybot/run.yaml\n\n"
        "Nothing is asked, nothing is overwritten. The files say in comments what to change."
    )
    parser.add_argument(
        "folder", type=path_argument, metavar="FOLDER", help="new, or without these files"
    )
    parser.add_argument(
        "--model",
        metavar="M",
        help="hub id, folder, .gguf file or a name of `gatt models` (default: the smallest of them)",
    )
    parser.add_argument(
        "--instruction",
        metavar="SENTENCE",
        help=f"what must hold in every reply (default: {EXAMPLE!r})",
    )


def run(args: argparse.Namespace) -> int:
    """Write the files and say what comes next."""
    sentence = _one_line("--instruction", EXAMPLE if args.instruction is None else args.instruction)
    if len(sentence) > _MOST_CHARACTERS:
        raise ConfigError(
            f"--instruction has {len(sentence)} characters: expected at most {_MOST_CHARACTERS}, one thing "
            "that must hold"
        )
    from gatt.commands.doctor.machine import Machine, in_words, num_weights
    from gatt.commands.init.rules import find_rule
    from gatt.commands.init.settings import choose_settings
    from gatt.commands.init.write import files_of, write_new
    from gatt.train.config import DEFAULT_MODEL

    model = DEFAULT_MODEL if args.model is None else _model(_one_line("--model", args.model))
    weights = num_weights(model)
    settings = choose_settings(weights, Machine.here())
    rule = find_rule(sentence)
    files = files_of(args.folder, model, f"{model}, {in_words(weights)}", sentence, rule, settings)
    write_new(args.folder, files)
    judged = f"judged is: {rule.about}" if rule else "no rule fits: a judge's place is marked"
    lines = [
        f"{args.folder}: {', '.join(files)}",
        f"model: {model}, {in_words(weights)}{'' if args.model else ' (another: --model)'}",
        f"memory: {settings.memory}",
        f"instruction: {sentence} ({judged})",
        *(["IT DOES NOT FIT this machine: take a smaller model or another machine"] if settings.is_too_large else []),
        f"next: {_next(model)}gatt run {_quoted(args.folder / 'run.yaml')}",
        f"then: gatt chat --adapter {_quoted(args.folder / 'run' / 'train' / 'adapter')}",
    ]  # fmt: skip
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def _one_line(option: str, text: str) -> str:
    line = " ".join(text.split())
    if not line or not line.isprintable():
        raise ConfigError(f"{option} is {text!r}: expected a text on one line")
    return line


def _model(name: str) -> str:
    """Return a name that something can be loaded by.

    Raises:
        ModelError: no such folder or packaged model.
    """
    from gatt.models.load import resolve
    from gatt.models.packaged.table import PACKAGED

    if name not in PACKAGED and not name.endswith(".gguf"):
        resolve(name)
    return name


def _next(model: str) -> str:
    from gatt.models.packaged.table import PACKAGED

    packaged = PACKAGED.get(model)
    return f"gatt models get {model}, then " if packaged and not packaged.is_here else ""


def _quoted(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))
