"""`gatt chat`: talk to a model, with the instruction given once and every reply judged."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from gatt.cli import path_argument
from gatt.commands.chat.conversation import MARKS, Chat, ChatReply, from_entry, from_text, in_words
from gatt.commands.run.folder import talk_of, with_values
from gatt.config.load import load_config
from gatt.data.catalog.read import load_catalog
from gatt.data.views import PLACEMENTS
from gatt.errors import ConfigError, DataError, GattError
from gatt.generation.base import SamplingParams
from gatt.generation.config import EngineConfig, local_engine, make_engine
from gatt.generation.servers.config import ServerConfig
from gatt.models.adapter import base_model_of
from gatt.models.template_variables import read_variables

COMMANDS = {
    "/replace TEXT": "another instruction from the next message on (TEXT, or the ID of an entry)",
    "/cancel": "no instruction from the next message on",
    "/reset": "forget the dialogue, keep the instruction",
    "/quit": "leave",
}
_WIDTH = 96


class Terminal:
    """Answers lines until there are no more, or `/quit`; `write` takes text for the reader."""

    def __init__(self, chat: Chat, write: Callable[[str], object]) -> None:
        self._chat = chat
        self._write = write

    def run(self, lines: Iterator[str]) -> None:
        """Answer every line; a mistake prints as one line and the talk goes on."""
        held = self._chat.instruction
        self._write(f"{'instruction, given once: ' if held else ''}{in_words(held)}\n")
        self._write("/help lists the commands, /quit leaves\n")
        for line in lines:
            text = line.strip()
            if text == "/quit":
                break
            try:
                self._answer(text)
            except KeyboardInterrupt:
                self._write("\n(stopped; that turn is forgotten)\n")
            except GattError as error:
                self._write(f"! {' '.join(str(error).split())}\n")
        self._write(f"{self._chat.tally}\n" if self._chat.tally else "")

    def _answer(self, text: str) -> None:
        command, _, rest = text.partition(" ")
        match command, rest.strip():
            case "", _:
                return
            case "/help", "":
                self._write("".join(f"  {name:<20}{doc}\n" for name, doc in COMMANDS.items()))
                return
            case "/reset", "":
                self._chat.reset()
            case "/cancel", "":
                self._chat.change(None)
            case "/replace", instruction if instruction:
                self._chat.change(instruction)
            case _ if not text.startswith("/"):
                self._show(self._chat.say(text))
                return
            case _:
                raise DataError(f"{text!r} is no command: expected one of {', '.join(COMMANDS)}")
        when = "from your next message on" if self._chat.num_turns else "the dialogue starts over"
        self._write(f"({when}: {in_words(self._chat.instruction)})\n")

    def _show(self, reply: ChatReply) -> None:
        wrapped = [
            part
            for line in reply.text.splitlines()
            for part in textwrap.wrap(line, _WIDTH, replace_whitespace=False) or [""]
        ]
        leak = "(still follows the earlier instruction)" if reply.is_leak else ""
        notes = [f"  {note}" for note in (reply.evidence, leak, reply.cut) if note]
        marks = [MARKS[reply.status], *" " * len(wrapped + notes)]
        lines = zip(marks, wrapped + notes, strict=False)
        self._write("".join(f"{mark} | {line}\n" for mark, line in lines))


HELP = "talk to a model in the terminal or on a page; the verdict on each reply is shown"
ADAPTER = "adapter"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add model, instruction and sampling."""
    engine, params = EngineConfig(), SamplingParams(max_new_tokens=80)
    parser.add_argument(
        "run", type=path_argument, nargs="?", metavar="RUN",
        help="folder of a run of `gatt run`: its model, adapter and catalogue; if that is your own and has one "
        "entry, also this entry",
    )  # fmt: skip
    parser.add_argument(
        "--model",
        metavar="M",
        help=f"name, folder or hub id (that of the adapter's training, or {engine.model}); with --server its "
        "name on the server",
    )
    parser.add_argument(
        "--adapter", type=path_argument, metavar="DIR",
        help="folder of a trained adapter; with --server its name on the server",
    )  # fmt: skip
    parser.add_argument(
        "--server", action="append", default=[], metavar="URL",
        help="talk to a model on an OpenAI-compatible server, such as http://localhost:8000/v1",
    )  # fmt: skip
    parser.add_argument(
        "--server-setting", action="append", default=[], metavar="KEY=VALUE",
        help="a key of `server` in a configuration, such as omit=[top_p,seed] or api_key_env=MY_KEY; may be "
        "repeated",
    )  # fmt: skip
    held = parser.add_mutually_exclusive_group()
    held.add_argument(
        "--instruction", metavar="TEXT", help="instruction of your own, given in turn 1; not judged"
    )
    held.add_argument(
        "--entry", metavar="ID", help="instruction of the catalogue, such as language.fr; judged"
    )
    parser.add_argument(
        "--catalog", type=path_argument, action="append", metavar="DIR",
        help="folder of catalogue files for --entry; may be repeated (the shipped catalogue)",
    )  # fmt: skip
    parser.add_argument(
        "--placement",
        choices=PLACEMENTS,
        default="system",
        help="where the instruction stands (%(default)s)",
    )
    parser.add_argument(
        "--max-new-tokens", type=int, default=params.max_new_tokens, metavar="N",
        help="most tokens of a reply (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--temperature", type=float, default=params.temperature, metavar="T",
        help="0 is greedy (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--chat-template-kwargs", action="append", default=[], metavar="NAME=VALUE",
        help="variable of the chat template, such as enable_thinking=false; may be repeated (those of the "
        "adapter's training)",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=int, default=params.seed, help="seed of the sampling (%(default)s)"
    )
    parser.add_argument(
        "--web", action="store_true",
        help="a page instead of the terminal: base model and adapter side by side (needs the extra `web`)",
    )  # fmt: skip
    parser.add_argument(
        "--port", type=int, default=7860, metavar="N",
        help="port of the page of --web, which only this machine can open (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--ratings", type=path_argument, default=Path("ratings.jsonl"), metavar="FILE",
        help="file for the ratings that are given on the page of --web (%(default)s)",
    )  # fmt: skip
    parser.add_argument("--device", default=engine.device, help="cpu, cuda or auto (%(default)s)")


def run(args: argparse.Namespace) -> int:
    """Talk until the input ends, or until Ctrl-C ends the page."""
    params = SamplingParams(
        max_new_tokens=args.max_new_tokens, temperature=args.temperature, seed=args.seed
    )
    if args.run is not None:
        if args.server:
            raise ConfigError(f"{args.run}: a folder beside --server: expected one of them")
        args = with_values(args, talk_of(args.run, args.adapter))
    catalog = cache(partial(load_catalog, *map(Path, args.catalog or ())))
    instruction = None
    if args.catalog and args.instruction is None and not args.entry and len(catalog().entries) == 1:
        args.entry = catalog().entries[0].id
    if args.entry:
        instruction = from_entry(catalog().entry(args.entry))
    elif args.instruction is not None:
        instruction = from_text(args.instruction)
    make = partial(
        Chat,
        **(_served(args) if args.server else _local(args)),
        params=params,
        catalog=catalog,
        first=instruction,
    )
    chat = make(adapter=ADAPTER if args.adapter else None)
    if args.web:
        from gatt.commands.chat.side_by_side import SideBySide
        from gatt.commands.chat.web import serve

        chats = {"base": make(), "GAtt": chat} if args.adapter else {"base": chat}
        serve(SideBySide(chats, args.ratings), args.port)
        return 0
    Terminal(chat, _write).run(_lines())
    return 0


def _local(args: argparse.Namespace) -> dict[str, Any]:
    """Return what a chat with a local model depends on: engine, placement, and the check of texts."""
    if args.server_setting:
        raise ConfigError("--server-setting without --server: expected the server's URL")
    base = args.model or (base_model_of(args.adapter) if args.adapter else None)
    trained_with = read_variables(args.adapter) if args.adapter else {}
    engine = local_engine(
        EngineConfig(
            model=base or EngineConfig().model,
            device=args.device,
            chat_template_kwargs={**trained_with, **_variables(args.chat_template_kwargs)},
        ),
        {ADAPTER: args.adapter} if args.adapter else None,
    )
    from gatt.models.control_tokens import refuse_control_tokens
    from gatt.models.template_facts import inspect_template, usable_placement

    return {
        "engine": engine,
        "placement": usable_placement(args.placement, inspect_template(engine.tokenizer)),
        "check_text": partial(refuse_control_tokens, engine.tokenizer, where="your text"),
    }


def _served(args: argparse.Namespace) -> dict[str, Any]:
    """Return the same for a model on a server; its template and tokenizer are not known here."""
    if not args.model:
        raise ConfigError(
            "--server without --model: expected the name that the server knows the model by"
        )
    overrides = [f"urls={json.dumps(args.server)}", *args.server_setting]
    server = load_config(ServerConfig, None, overrides)
    if variables := _variables(args.chat_template_kwargs):
        body = {**server.extra_body, "chat_template_kwargs": variables}
        server = replace(server, extra_body=body)
    adapters = {ADAPTER: str(args.adapter)} if args.adapter else None
    engine = make_engine(EngineConfig(model=args.model, server=server), adapters)
    return {"engine": engine, "placement": args.placement}


def _lines() -> Iterator[str]:
    """Yield what is typed or piped in, until it ends or Ctrl-C is typed at the prompt."""
    if not sys.stdin.isatty():
        for line in sys.stdin:
            _write(f"> {line.rstrip()}\n")
            yield line
        return
    while True:
        try:
            line = input("> ")
        except (EOFError, KeyboardInterrupt):
            _write("\n")
            return
        yield line


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _variables(words: Sequence[str]) -> dict[str, str | bool]:
    variables: dict[str, str | bool] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise ConfigError(
                f"--chat-template-kwargs {word}: expected NAME=VALUE, such as enable_thinking=false"
            )
        variables[name] = {"true": True, "false": False}.get(value, value)
    return variables
