"""The same messages to several models: what the page of `gatt chat --web` shows. No gradio here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from gatt.commands.chat.conversation import MARKS, Chat, ChatReply, in_words
from gatt.commands.templates import filled
from gatt.data.expectation import Expectation
from gatt.data.ratings import Rating, Thumb, append_rating
from gatt.errors import DataError, GattError


@dataclass
class ChatTurn:
    """One turn: `change` is what holds from it on; a text in place of a reply says why there is none."""

    user: str
    change: str
    replies: dict[str, ChatReply | str] = field(default_factory=dict)
    thumbs: dict[str, Thumb] = field(default_factory=dict)


class SideBySide:
    """Conversations that get the same messages; each model reads its own replies.

    `chats` are by the name that the page shows, all with the same instruction. A thumb adds a line to the file
    `ratings`.
    """

    def __init__(self, chats: Mapping[str, Chat], ratings: Path) -> None:
        self.chats, self._ratings = chats, ratings
        self.instruction = next(iter(chats.values())).instruction
        """What holds for the next message."""
        self.rows: list[ChatTurn] = []
        self.change_to, self._began = "", datetime.now(UTC)

    def say(self, text: str, must_say: str = "") -> Iterator[str]:
        """Send a message to every model; yield the page again after each reply.

        A model that cannot answer has the reason in place of a reply, and its history lacks the turn.
        `must_say` is wordings of the right answer with `|` between, one of which a reply must say.

        Raises:
            DataError: a blank message.
        """
        if not (text := text.strip()):
            raise DataError("the message is blank: expected some text")
        wordings = tuple(word for raw in must_say.split("|") if (word := raw.strip()))
        row = ChatTurn(text, self.change_to)
        self.rows.append(row)
        self.change_to = ""
        yield self.html()
        for name, chat in self.chats.items():
            try:
                row.replies[name] = chat.say(text, Expectation(wordings) if wordings else None)
            except GattError as error:
                row.replies[name] = " ".join(str(error).split())
            yield self.html()

    def change(self, kind: str, text: str = "") -> str:
        """`start` anew, `replace` or `cancel` (see `Chat.change` for errors), and return the page."""
        wanted = None if kind == "cancel" else text.strip()
        for chat in self.chats.values():
            (chat.restart if kind == "start" else chat.change)(wanted)
            self.instruction = chat.instruction
        if kind == "start":
            self.rows, self._began = [], datetime.now(UTC)
        self.change_to = in_words(self.instruction) if self.rows else ""
        return self.html()

    def rate(self, number: int, name: str, thumb: Thumb) -> str:
        """Store a thumb for the reply of a model in a row (from 0), and return the page.

        Raises:
            DataError: no such reply (another tab started over), or the file cannot be written.
        """
        row = self.rows[number] if 0 <= number < len(self.rows) else ChatTurn("", "")
        reply = row.replies.get(name)
        if not isinstance(reply, ChatReply):
            raise DataError("that reply is gone: reload the page")
        of = (f"chat-{self._began:%Y%m%d-%H%M%S-%f}", name, number + 1)
        append_rating(self._ratings, Rating(*of, thumb, reply.instruction, row.user, reply.text))
        row.thumbs[name] = thumb
        return self.html()

    def html(self) -> str:
        """Return the whole talk as HTML; what people and models wrote is escaped."""
        return filled("chat/talk.html.j2", talk=self, held=in_words(self.instruction), marks=MARKS)
