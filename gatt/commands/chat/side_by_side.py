"""The same messages to several models: what the page of `gatt chat --web` shows. No gradio here."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gatt.commands.chat.conversation import MARKS, Chat, ChatReply, in_words
from gatt.commands.templates import filled
from gatt.data.answers import answers, flaw_of
from gatt.data.expectation import Expectation
from gatt.data.instruction import Instruction
from gatt.data.ratings import Rating, Thumb, append_rating
from gatt.errors import DataError, GattError
from gatt.verifiers import Status


def _start(chat: Chat, text: str) -> None:
    if text or chat.instruction:
        chat.change(text or None)
    chat.reset()


CHANGES: Mapping[str, tuple[str, Callable[[Chat, str], None]]] = {
    "start": ("Start anew", _start),
    "replace": ("Replace", Chat.change),
    "cancel": ("Cancel", lambda chat, _: chat.change(None)),
}
"""Buttons that change the instruction: label, and what each does to a conversation."""


@dataclass
class Row:
    """One turn: what the user said, and what each model made of it; the mappings are by its name."""

    user: str
    expected: Expectation | None
    instruction: str
    """What held; empty for none."""
    change: str
    """What holds from this turn on, where that changed."""
    replies: dict[str, ChatReply] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    """Why a model has no reply."""
    answers: dict[str, tuple[Status | None, str]] = field(default_factory=dict)
    """Status and evidence; a status of None where nothing is expected."""
    thumbs: dict[str, Thumb] = field(default_factory=dict)


class SideBySide:
    """Conversations that get the same messages; each model reads its own replies.

    Args:
        chats: by the name that the page shows; all with the same instruction.
        ratings: file to which a thumb adds a line.
    """

    def __init__(self, chats: Mapping[str, Chat], ratings: Path) -> None:
        self._chats = dict(chats)
        self._ratings = ratings
        self._rows: list[Row] = []
        self._change = ""
        self._name = _name()

    @property
    def instruction(self) -> Instruction | None:
        """What holds for the next message."""
        return next(iter(self._chats.values())).instruction

    def say(self, text: str, must_say: str = "") -> Iterator[str]:
        """Send a message to every model; yield the page again after each reply.

        A model that cannot answer has the reason in place of a reply, and its history lacks the turn.

        Args:
            text: the message.
            must_say: wordings of the right answer, one of which a reply must say, with `|` between; blank
                where none is known: then a reply is told only if it is none at all (a copy, a loop).

        Raises:
            DataError: a blank message.
        """
        if not (text := text.strip()):
            raise DataError("the message is blank: expected some text")
        wordings = tuple(word for raw in must_say.split("|") if (word := raw.strip()))
        held = self.instruction
        row = Row(
            text, Expectation(wordings) if wordings else None, held.text if held else "", self._change
        )  # fmt: skip
        earlier = tuple(self._rows)
        self._rows.append(row)
        self._change = ""
        yield self.html()
        for name, chat in self._chats.items():
            try:
                reply = chat.say(text)
                row.answers[name] = _answered(row, name, reply.text, earlier)
                row.replies[name] = reply
            except GattError as error:
                row.failures[name] = " ".join(str(error).split())
            yield self.html()

    def change(self, kind: str, text: str = "") -> str:
        """Change the instruction of every model by one of `CHANGES`, and return the page.

        Raises:
            CatalogError, DataError: no such entry, or a text that cannot be used.
        """
        for chat in self._chats.values():
            CHANGES[kind][1](chat, text.strip())
        if kind == "start":
            self._rows.clear()
            self._name = _name()
        self._change = in_words(self.instruction) if self._rows else ""
        return self.html()

    def rate(self, number: int, name: str, thumb: Thumb) -> str:
        """Store a thumb for the reply of a model in a row (from 0), and return the page.

        Raises:
            DataError: no such reply (another tab started over), or the file cannot be written.
        """
        row = self._rows[number] if 0 <= number < len(self._rows) else None
        if row is None or name not in row.replies:
            raise DataError("that reply is gone: reload the page")
        rated = Rating(
            case=self._name,
            arm=name,
            turn=number + 1,
            rating=thumb,
            instruction=row.instruction,
            message=row.user,
            reply=row.replies[name].text,
        )
        append_rating(self._ratings, rated)
        row.thumbs[name] = thumb
        return self.html()

    def html(self) -> str:
        """Return the whole talk as HTML; what people and models wrote is escaped."""
        return filled(
            "chat/talk.html.j2",
            rows=self._rows,
            tallies={name: chat.tally for name, chat in self._chats.items()},
            instruction=in_words(self.instruction),
            is_pending=bool(self._change),
            marks=MARKS,
        )


def _answered(
    row: Row, name: str, reply: str, earlier: tuple[Row, ...]
) -> tuple[Status | None, str]:  # fmt: skip
    """Return whether a reply answers its row, and why; None where the row expects nothing."""
    had = [other for other in earlier if name in other.replies]
    replies = [other.replies[name].text for other in had]
    if row.expected is None:
        flaw = flaw_of(reply, row.user, replies)
        return ("fail", flaw) if flaw else (None, "")
    verdict = answers(row.expected, reply, row.user, replies, [other.expected for other in had])
    return verdict.status, verdict.evidence


def _name() -> str:
    """Return the name of a talk, under which its ratings stand."""
    return f"chat-{re.sub('[^0-9]', '', time.strftime('%Y-%m-%d %H:%M:%S'))}-{time.time_ns() % 1000:03}"
