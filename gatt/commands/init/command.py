"""`gatt init`: files to start from, for a model and a sentence that must hold."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gatt.cli import path_argument
from gatt.errors import ConfigError
from gatt.verifiers.spec import VerifierSpec

if TYPE_CHECKING:
    from gatt.commands.init.rule import SentencePart

HELP = "write a working start into a folder: run.yaml, catalog.yaml and example dialogues"
EXAMPLE = "Always answer in French."
_MOST_CHARACTERS = 2_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the folder, the model and the sentence."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = (
        f"{HELP}\n\n"
        "  gatt init mybot --model qwen2.5-coder-0.5b-instruct --instruction 'Answer in French.'\n"
        "  gatt run mybot\n\n"
        "Nothing is asked, nothing is overwritten. The files say in comments what to change."
    )
    parser.add_argument(
        "folder", type=path_argument, metavar="FOLDER", help="new, or without these files"
    )
    model = "hub id, folder, .gguf file or a name of `gatt models` (default: the smallest of them)"
    parser.add_argument("--model", metavar="M", help=model)
    text = f"what must hold in every reply (default: {EXAMPLE!r})"
    parser.add_argument("--instruction", metavar="SENTENCE", default=EXAMPLE, help=text)
    parser.add_argument(
        "--from", dest="dialogues", type=path_argument, metavar="FILE",
        help="your dialogues: JSON lines with `messages`, or what source jsonl reads (default: examples)",
    )  # fmt: skip
    parser.add_argument(
        "--faq", type=path_argument, metavar="FILE",
        help="your questions and answers, CSV or JSON lines: question, must_contain, answer",
    )  # fmt: skip
    parser.add_argument(
        "--server",
        metavar="URL",
        help="an OpenAI-compatible server that rewrites replies, instead of this machine",
    )


def run(args: argparse.Namespace) -> int:
    """Write the files and say what comes next."""
    sentence = _one_line("--instruction", args.instruction)
    from gatt.cli import commands, load_command
    from gatt.commands.init.data import data_of
    from gatt.commands.init.rules import find_parts, together
    from gatt.commands.init.write import Start, files_of, write_new
    from gatt.models.load import resolve
    from gatt.models.packaged import PACKAGED
    from gatt.stages.machine import Machine, choose_settings, in_words, num_weights
    from gatt.train.config import DEFAULT_MODEL

    model = DEFAULT_MODEL if args.model is None else _one_line("--model", args.model)
    if model not in PACKAGED and not model.endswith(".gguf"):
        resolve(model)
    weights = num_weights(model)
    settings = choose_settings(weights, Machine.here())
    parts = find_parts(sentence)
    rule = together(parts)
    data = data_of(args.folder, args.dialogues, args.faq)
    server = None if args.server is None else _one_line("--server", args.server)
    start = Start(
        args.folder,
        model,
        f"{model}, {in_words(weights)}",
        sentence,
        parts,
        rule,
        settings,
        data,
        server,
    )
    files = files_of(start)
    write_new(args.folder, files)
    nothing = [] if rule else ["judged: nothing: JUDGE marks the places in the files"]
    problems = []
    if rule:
        # By its entry point: this package imports none of the others.
        module: Any = load_command(commands()["catalog"])
        problems = module.problems_of(args.folder / "catalog.yaml")
    is_away = model in PACKAGED and not PACKAGED[model].is_here
    folder = shlex.quote(str(args.folder))
    # A place for a judge takes every reply, so that its verdicts in a chat would say nothing.
    chat_option = "" if rule else f" --instruction {shlex.quote(sentence)}"
    lines = [
        f"{args.folder}: {', '.join(files)}",
        f"model: {model}, {in_words(weights)}{'' if args.model else ' (another: --model)'}",
        f"memory: {'IT DOES NOT FIT: ' if settings.is_too_large else ''}{settings.memory}",
        f"dialogues: {data}",
        f"instruction: {sentence}",
        *nothing,
        *_what_judges(parts),
        *(f"catalog check: {problem}" for problem in problems),
        *(["catalog check: no problem"] if rule and not problems else []),
        f"next: {f'gatt models get {model}; ' if is_away else ''}gatt run {folder}",
        f"then: gatt chat {folder}{chat_option}",
    ]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def _kinds(verifiers: Iterable[VerifierSpec]) -> Iterator[str]:
    """Yield the kinds of verifiers; of those that are made of others, the kinds of these."""
    for spec in verifiers:
        of = spec.params.get("of", ())
        inner = [VerifierSpec.from_dict(raw) for raw in ((of,) if isinstance(of, Mapping) else of)]
        if spec.kind == "not":
            yield from (f"not {kind}" for kind in _kinds(inner))
        elif spec.kind == "all":
            yield from _kinds(inner)
        else:
            yield spec.kind


def _what_judges(parts: Sequence[SentencePart]) -> list[str]:
    """Return a line for each part: what judges it, or that nothing does."""
    lines = []
    for part in parts:
        if part.rule and part.rule.facts:
            facts, kind = ", ".join(part.rule.facts), next(_kinds(part.rule.verifiers))
            how = f"judged where {facts} is asked for, and in every reply by {kind}"
        elif part.rule:
            kinds = dict.fromkeys(_kinds(part.rule.verifiers))
            how = f"judged in every reply by {', '.join(kinds)}"
        else:
            how = f"judged where one of {len(part.asks)} messages asks for it"
        lines.append(f'  {how if part.is_judged else "NOT judged"}: "{part.about}"')
    return lines


def _one_line(option: str, text: str) -> str:
    """Return a text without line breaks.

    Raises:
        ConfigError: it is empty, holds control characters, or is no sentence by its length.
    """
    line = " ".join(text.split())
    if not line or not line.isprintable() or len(line) > _MOST_CHARACTERS:
        raise ConfigError(
            f"{option} is {line[:40]!r} of {len(line)} characters: expected a text of 1 to {_MOST_CHARACTERS} "
            "that can be printed"
        )
    return line
