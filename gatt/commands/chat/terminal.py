"""The terminal side of `gatt chat`: lines in, replies with their verdict in the margin out."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

from gatt.cli import path_argument
from gatt.commands.chat.conversation import Chat, ChatReply, followed
from gatt.commands.chat.instructions import Namer, from_text, unjudged
from gatt.data.catalog.read import Catalog
from gatt.errors import DataError, GattError
from gatt.generation.base import FinishReason
from gatt.verifiers import Status

COMMANDS = {
    "/retry": "draw the last reply again",
    "/replace TEXT": "another instruction from the next message on (TEXT, or the ID of an entry)",
    "/add TEXT": "one more from the next message on (likewise)",
    "/cancel": "no instruction from the next message on",
    "/reset": "forget the dialogue, keep the instruction",
    "/instruction TEXT": "another instruction, and start over",
    "/entry ID": "likewise, from the catalogue: its verifiers judge the replies",
    "/save FILE": "append the dialogue to a JSONL file",
    "/quit": "leave",
}
MARKS: dict[Status | None, str] = {"pass": "✓", "fail": "✗", "undecided": "?", None: "–"}
_COLOURS: dict[Status | None, str] = {"pass": "32", "fail": "31", "undecided": "33", None: "2"}
_WIDTH = 96
CUTS: dict[FinishReason, str] = {
    "length": "its length limit",
    "context_limit": "the end of the context",
    "content_filter": "the server's filter",
    "unanswered": "the server, which has no reply",
}


class Terminal:
    """Reads lines and answers them until there are no more, or `/quit`.

    Args:
        chat: the conversation.
        catalog: gives the catalogue when `/entry` asks for it.
        write: takes text for the reader.
        has_colour: whether escape codes are shown as colours.
    """

    def __init__(
        self,
        chat: Chat,
        catalog: Callable[[], Catalog],
        write: Callable[[str], object],
        *,
        has_colour: bool = False,
    ) -> None:
        self._chat = chat
        self._namer = Namer(catalog)
        self._write = write
        self._has_colour = has_colour
        self._statuses: list[Status | None] = []

    def run(self, lines: Iterator[str]) -> None:
        """Answer every line; a mistake prints as one line and the talk goes on."""
        self._write(self._intro())
        for line in lines:
            text = line.strip()
            if not text:
                continue
            if text == "/quit":
                break
            try:
                self._answer(text)
            except KeyboardInterrupt:
                self._write("\n(stopped; that turn is forgotten)\n")
            except GattError as error:
                self._write(f"! {' '.join(str(error).split())}\n")
        tally = followed(self._statuses)
        self._write(f"{tally}\n" if tally else "")

    def _answer(self, text: str) -> None:
        if not text.startswith("/"):
            self._show(self._chat.say(text))
            return
        command, _, rest = text.partition(" ")
        rest = rest.strip()
        if command == "/retry":
            reply = self._chat.retry()
            del self._statuses[-1:]
            self._show(reply)
        elif command == "/reset":
            self._chat.reset()
            self._start_over("the dialogue starts over")
        elif command == "/help":
            self._write("".join(f"  {name:<20}{doc}\n" for name, doc in COMMANDS.items()))
        elif command == "/instruction" and rest:
            self._chat.instruct(from_text(rest))
            self._start_over(f"instruction: {rest}")
        elif command == "/entry" and rest:
            instruction = self._namer.entry(rest)
            self._chat.instruct(instruction)
            self._start_over(f"instruction: {instruction.text}")
        elif command == "/replace" and rest:
            self._chat.replace(self._namer.named(rest))
            self._tell_change()
        elif command == "/add" and rest:
            self._chat.add(self._namer.beside(rest, self._chat.instruction))
            self._tell_change()
        elif command == "/cancel" and not rest:
            self._chat.cancel()
            self._tell_change()
        elif command == "/save" and rest:
            identity = self._chat.save(_path(rest))
            self._write(f"({rest}: saved as {identity})\n")
        else:
            known = ", ".join(COMMANDS)
            raise DataError(f"{text!r} is no command: expected one of {known}")

    def _tell_change(self) -> None:
        held = self._chat.instruction
        in_system = self._chat.switch_place == "system"
        place = "in a system message before it" if in_system else "in front of it"
        told = f", given {place}" if self._chat.num_turns else ""
        text = f"{held.text}{unjudged(held)}" if held else "no instruction"
        self._write(f"(from your next message on{told}: {text})\n")

    def _start_over(self, note: str) -> None:
        self._statuses.clear()
        self._write(f"({note})\n")

    def _intro(self) -> str:
        instruction = self._chat.instruction
        if instruction is None:
            told = "no instruction"
        else:
            told = f"instruction, given once: {instruction.text}{unjudged(instruction)}"
        return f"{told}\n/help lists the commands, /quit leaves\n"

    def _show(self, reply: ChatReply) -> None:
        self._statuses.append(reply.status)
        mark = self._paint(MARKS[reply.status], _COLOURS[reply.status])
        lines = [
            part
            for line in reply.text.splitlines()
            for part in textwrap.wrap(line, _WIDTH, replace_whitespace=False) or [""]
        ]
        shown = [f"{mark} | {lines[0]}", *(f"  | {line}" for line in lines[1:])]
        if reply.evidence:
            shown.append(self._paint(f"  |   {reply.evidence}", "2"))
        if reply.is_leak:
            shown.append(self._paint("  |   (still follows the earlier instruction)", "31"))
        if reply.finish != "stop":
            shown.append(self._paint(f"  |   (cut by {CUTS[reply.finish]})", "2"))
        self._write("\n".join(shown) + "\n")

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._has_colour else text


def _path(text: str) -> Path:
    try:
        return path_argument(text)
    except argparse.ArgumentTypeError as error:
        raise DataError(str(error)) from None
