"""`gatt chat --web`: the models side by side on a page of this machine. Needs gradio, an extra."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from gatt.commands.chat.conversation import MARKS, Chat, ChatReply, in_words
from gatt.commands.templates import filled
from gatt.data.instruction import Instruction
from gatt.errors import ConfigError, DataError, GattError

HOST = "127.0.0.1"
"""This machine alone: whoever reaches the page can talk to the model."""
CHANGES: Mapping[str, tuple[str, Callable[[Chat, str], None]]] = {
    "start": ("Start anew", Chat.start),
    "replace": ("Replace", Chat.replace),
    "add": ("Add", Chat.add),
    "cancel": ("Cancel", lambda chat, _: chat.cancel()),
}
"""Buttons that change the instruction."""


@dataclass
class Row:
    """One turn: what the user said, and what each model made of it."""

    user: str
    told: str
    """What holds from this turn on, where that changed."""
    replies: dict[str, ChatReply | str] = field(default_factory=dict)
    """By the model's name; a text says why one has no reply."""


class SideBySide:
    """Conversations that get the same messages; each model reads its own replies.

    Args:
        chats: by the name that the page shows; all with the same instruction.
    """

    def __init__(self, chats: Mapping[str, Chat]) -> None:
        self._chats = dict(chats)
        self._rows: list[Row] = []
        self._told = ""

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
        text = text.strip()
        if not text:
            raise DataError("the message is blank: expected some text")
        self._rows.append(Row(text, self._told))
        self._told = ""
        yield from self._answered(lambda chat: chat.say(text))

    def retry(self) -> Iterator[str]:
        """Send the last message again; yield the page after each reply.

        Raises:
            DataError: nothing was said yet.
        """
        if not self._rows:
            raise DataError("nothing to retry: say something first")
        yield from self._answered(Chat.retry)

    def _answered(self, ask: Callable[[Chat], ChatReply]) -> Iterator[str]:
        replies = self._rows[-1].replies
        replies.clear()
        yield self.html()
        for name, chat in self._chats.items():
            try:
                replies[name] = ask(chat)
            except GattError as error:
                replies[name] = " ".join(str(error).split())
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
        self._told = in_words(self.instruction) if self._rows else ""
        return self.html()

    def html(self) -> str:
        """Return the whole talk as HTML; what people and models wrote is escaped."""
        return filled(
            "chat/talk.html.j2",
            rows=self._rows,
            tallies={name: chat.tally for name, chat in self._chats.items()},
            instruction=in_words(self.instruction),
            is_pending=bool(self._told),
            marks=MARKS,
        )


def serve(talk: SideBySide, port: int, *, is_waiting: bool = True) -> Any:
    """Serve the page until Ctrl-C, and return gradio's server.

    All tabs show the same talk. Nothing is sent anywhere: no analytics, no share link, no fonts of others.

    Args:
        talk: what the page shows.
        port: 0 for any free one.
        is_waiting: whether to come back only when it is interrupted.

    Raises:
        ConfigError: gradio is not installed, or the port is taken.
    """
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    try:
        import gradio
    except ImportError:
        raise ConfigError(
            "--web needs gradio: pip install 'ghost-attention[web]', or talk in the terminal"
        ) from None
    page = _page(gradio, talk)
    try:
        page.launch(
            server_name=HOST,
            server_port=port or None,
            share=False,
            prevent_thread_lock=True,
            quiet=True,
            ssr_mode=False,
            enable_monitoring=False,
            run_history=False,
            footer_links=[],
            css=files("gatt.commands.chat").joinpath("talk.css").read_text(encoding="utf-8"),
            theme=gradio.themes.Base(
                font=("system-ui", "sans-serif"), font_mono=("ui-monospace", "monospace")
            ),
        )
    except OSError as error:
        raise ConfigError(f"--port {port}: {error}: name another one") from None
    sys.stdout.write(f"{page.local_url} (Ctrl-C ends it)\n")
    sys.stdout.flush()
    if is_waiting:
        page.block_thread()
    return page


def _page(gradio: Any, talk: SideBySide) -> Any:
    """Return the page: an instruction box, what changes it, the talk, and a box to say something."""
    with gradio.Blocks(title="gatt chat", analytics_enabled=False) as page:
        held = talk.instruction
        with gradio.Row(equal_height=True):
            told = gradio.Textbox(
                held.id if held and held.entries else held.text if held else "",
                label="Instruction: an entry of the catalogue, or words of your own",
                placeholder="language.fr",
                scale=3,
                elem_id="instruction",
            )
            buttons = {
                name: gradio.Button(label, elem_id=name, min_width=90)
                for name, (label, _) in CHANGES.items()
            }
        shown = gradio.HTML(talk.html, elem_id="talk")
        with gradio.Row(equal_height=True):
            said = gradio.Textbox(
                label="Message", placeholder="Hello!", scale=5, elem_id="message", autofocus=True
            )
            send = gradio.Button("Send", variant="primary", elem_id="send", min_width=90)
            retry = gradio.Button("Retry", elem_id="retry", min_width=90)

        # One at a time: a talk is no place for two turns at once.
        once = {"concurrency_limit": 1, "concurrency_id": "talk", "api_visibility": "private"}

        def say(text: str) -> Iterator[tuple[str, str]]:
            with _told(gradio):
                for html in talk.say(text):
                    yield html, ""

        def again() -> Iterator[str]:
            with _told(gradio):
                yield from talk.retry()

        def changing(kind: str) -> Callable[[str], str]:
            def changed(text: str) -> str:
                with _told(gradio):
                    return talk.change(kind, text)

            return changed

        gradio.on([send.click, said.submit], say, said, [shown, said], **once)
        retry.click(again, None, shown, **once)
        for name, button in buttons.items():
            button.click(changing(name), told, shown, **once)
    return page


@contextmanager
def _told(gradio: Any) -> Iterator[None]:
    """Show a mistake of the user as one line on the page."""
    try:
        yield
    except GattError as error:
        raise gradio.Error(" ".join(str(error).split()), print_exception=False) from None
