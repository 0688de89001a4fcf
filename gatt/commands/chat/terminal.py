"""The terminal side of `gatt chat`: lines in, replies with their verdict in the margin out."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

from gatt.cli import path_argument
from gatt.commands.chat.conversation import MARKS, Chat, ChatReply, in_words
from gatt.errors import DataError, GattError
from gatt.verifiers import Status

COMMANDS = {
    "/retry": "ask your last message again",
    "/replace TEXT": "another instruction from the next message on (TEXT, or the ID of an entry)",
    "/add TEXT": "one more from the next message on (likewise)",
    "/cancel": "no instruction from the next message on",
    "/reset": "forget the dialogue, keep the instruction",
    "/instruction TEXT": "another instruction (likewise), and start over",
    "/save FILE": "append the dialogue to a JSONL file",
    "/quit": "leave",
}
_COLOURS: dict[Status | None, str] = {"pass": "32", "fail": "31", "undecided": "33", None: "2"}
_WIDTH = 96


class Terminal:
    """Reads lines and answers them until there are no more, or `/quit`.

    Args:
        chat: the conversation.
        write: takes text for the reader.
        has_colour: whether escape codes are shown as colours.
    """

    def __init__(
        self, chat: Chat, write: Callable[[str], object], *, has_colour: bool = False
    ) -> None:
        self._chat = chat
        self._write = write
        self._has_colour = has_colour

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
        change: dict[str, Callable[[str], None]] = {
            "/replace": self._chat.replace,
            "/add": self._chat.add,
            "/instruction": self._chat.start,
        }
        match command, rest.strip():
            case "", _:
                return
            case "/retry", "":
                self._show(self._chat.retry())
            case "/help", "":
                self._write("".join(f"  {name:<20}{doc}\n" for name, doc in COMMANDS.items()))
            case "/reset", "":
                self._chat.reset()
                self._say_instruction()
            case "/cancel", "":
                self._chat.cancel()
                self._say_instruction()
            case "/save", file if file:
                self._chat.save(_path(file))
                self._write(f"({file}: saved)\n")
            case _, instruction if command in change and instruction:
                change[command](instruction)
                self._say_instruction()
            case _ if not text.startswith("/"):
                self._show(self._chat.say(text))
            case _:
                known = ", ".join(COMMANDS)
                raise DataError(f"{text!r} is no command: expected one of {known}")

    def _say_instruction(self) -> None:
        when = "from your next message on" if self._chat.num_turns else "the dialogue starts over"
        self._write(f"({when}: {in_words(self._chat.instruction)})\n")

    def _show(self, reply: ChatReply) -> None:
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
        if reply.cut:
            shown.append(self._paint(f"  |   (cut by {reply.cut})", "2"))
        self._write("\n".join(shown) + "\n")

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._has_colour else text


def _path(text: str) -> Path:
    try:
        return path_argument(text)
    except argparse.ArgumentTypeError as error:
        raise DataError(str(error)) from None
