"""The same messages to several models, as the page of `gatt chat --web` shows them. No gradio here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from jinja2 import Environment, PackageLoader, StrictUndefined

from gatt.commands.chat.conversation import Chat, ChatReply, followed
from gatt.commands.chat.instructions import Namer, unjudged
from gatt.commands.chat.terminal import CUTS, MARKS
from gatt.data.instruction import Instruction
from gatt.errors import DataError, GattError


@dataclass
class Row:
    """One turn: what the user said, and what each model made of it."""

    user: str
    told: str = ""
    """What holds from this turn on, where that changed."""
    replies: dict[str, ChatReply | str] = field(default_factory=dict)
    """By the model's name; a text says why one has no reply."""


class SideBySide:
    """Conversations that get the same messages; each model reads its own replies.

    Args:
        chats: by the name that the page shows; all with the same instruction.
        namer: finds what the user names.
    """

    def __init__(self, chats: Mapping[str, Chat], namer: Namer) -> None:
        self._chats = dict(chats)
        self._namer = namer
        self._rows: list[Row] = []
        self._change = ""
        self._page = Environment(
            loader=PackageLoader("gatt.commands", "chat"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        ).get_template("talk.html.j2")

    @property
    def instruction(self) -> Instruction | None:
        """What holds for the next message."""
        return next(iter(self._chats.values())).instruction

    def say(self, text: str) -> Iterator[str]:
        """Send a message to every model; yield the page again after each reply.

        A model that cannot answer has the reason in place of a reply, and its history without the turn.

        Raises:
            DataError: a blank message.
        """
        if not text.strip():
            raise DataError("the message is blank: expected some text")
        self._rows.append(Row(text.strip(), self._change))
        self._change = ""
        yield from self._answered(retry=False)

    def retry(self) -> Iterator[str]:
        """Draw the last replies again; yield the page after each.

        Raises:
            DataError: nothing was said yet.
        """
        if not self._rows:
            raise DataError("nothing to retry: say something first")
        yield from self._answered(retry=True)

    def _answered(self, *, retry: bool) -> Iterator[str]:
        row = self._rows[-1]
        before, row.replies = row.replies, {}
        yield self.html()
        for name, chat in self._chats.items():
            again = retry and isinstance(before.get(name), ChatReply)
            try:
                row.replies[name] = chat.retry() if again else chat.say(row.user)
            except GattError as error:
                row.replies[name] = " ".join(str(error).split())
            yield self.html()

    def start(self, text: str) -> None:
        """Begin anew, with an instruction where the text names one.

        Raises:
            CatalogError, DataError: no such entry, or a text that cannot be used.
        """
        instruction = self._namer.named(text.strip()) if text.strip() else None
        for chat in self._chats.values():
            if instruction is None:
                chat.reset()
                if chat.instruction is not None:
                    chat.cancel()
            else:
                chat.instruct(instruction)
        self._rows, self._change = [], ""

    def replace(self, text: str) -> None:
        """Let another instruction hold from the next message on, see `Chat.replace`."""
        new = self._namer.named(text.strip())
        for chat in self._chats.values():
            chat.replace(new)
        self._tell()

    def add(self, text: str) -> None:
        """Let one more hold, see `Chat.add` and `Namer.beside`."""
        new = self._namer.beside(text.strip(), self.instruction)
        for chat in self._chats.values():
            chat.add(new)
        self._tell()

    def cancel(self) -> None:
        """Let none hold, see `Chat.cancel`."""
        for chat in self._chats.values():
            chat.cancel()
        self._tell()

    def _tell(self) -> None:
        held = self.instruction
        self._change = held.text if held else "no instruction" if self._rows else ""

    def html(self) -> str:
        """Return the whole talk as HTML; what people and models wrote is escaped."""
        statuses = {
            name: [
                r.status for row in self._rows if isinstance(r := row.replies.get(name), ChatReply)
            ]
            for name in self._chats
        }
        held = self.instruction
        return self._page.render(
            rows=self._rows,
            tallies={name: followed(found) for name, found in statuses.items()},
            instruction=held.text if held else "",
            unjudged=unjudged(held) if held else "",
            is_pending=bool(self._change and self._rows),
            marks=MARKS,
            cuts=CUTS,
        )
