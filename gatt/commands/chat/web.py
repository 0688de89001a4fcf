"""`gatt chat --web`: the models side by side on a page of this machine. Needs gradio, an extra."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any

from gatt.commands.chat.side_by_side import SideBySide
from gatt.errors import ConfigError, GattError

HOST = "127.0.0.1"
"""This machine alone: whoever reaches the page can talk to the model."""
_FONT = ("system-ui", "sans-serif")
_TITLE = "gatt chat"


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
            theme=gradio.themes.Base(font=_FONT, font_mono=("ui-monospace", "monospace")),
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
    with gradio.Blocks(title=_TITLE, analytics_enabled=False) as page:
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
                for name, label in (
                    ("start", "Start anew"),
                    ("replace", "Replace"),
                    ("add", "Add"),
                    ("cancel", "Cancel"),
                )
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
            for html in _told(gradio, talk.say(text)):
                yield html, ""

        def again() -> Iterator[str]:
            yield from _told(gradio, talk.retry())

        gradio.on([send.click, said.submit], say, said, [shown, said], **once)
        retry.click(again, None, shown, **once)
        for name in ("start", "replace", "add"):
            change = _change(gradio, talk, getattr(talk, name))
            buttons[name].click(change, told, shown, **once)
        cancel = _change(gradio, talk, lambda _: talk.cancel())
        buttons["cancel"].click(cancel, told, shown, **once)
    return page


def _told(gradio: Any, pages: Iterator[str]) -> Iterator[str]:
    """Yield the pages; a mistake of the user is one line on the page."""
    try:
        yield from pages
    except GattError as error:
        raise gradio.Error(" ".join(str(error).split()), print_exception=False) from None


def _change(gradio: Any, talk: SideBySide, change: Callable[[str], None]) -> Callable[[str], str]:
    def changed(text: str) -> str:
        try:
            change(text)
        except GattError as error:
            raise gradio.Error(" ".join(str(error).split()), print_exception=False) from None
        return talk.html()

    return changed
