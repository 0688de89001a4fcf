"""`gatt chat --web`: the models side by side on a page of this machine. Needs gradio, an extra."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

from gatt.commands.chat.side_by_side import CHANGES, SideBySide
from gatt.errors import ConfigError, GattError

HOST = "127.0.0.1"
"""This machine alone: whoever reaches the page can talk to the model."""
_THUMBS = """element.addEventListener('click', (event) => {
  const thumb = event.target.closest('.thumb');
  if (!thumb) return;
  const {row, name, thumb: rating} = thumb.dataset;
  trigger('click', {row: Number(row), name, thumb: rating});
});"""


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
    except OSError:
        raise ConfigError(f"--port {port} is taken or refused: name another one") from None
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
            instruction = gradio.Textbox(
                held.id if held and held.entries else held.text if held else "",
                label="Instruction: an entry of the catalogue, or words of your own",
                placeholder="language.fr",
                scale=3,
                elem_id="instruction",
            )
            buttons = {
                name: gradio.Button(label, elem_id=name, scale=0, min_width=110)
                for name, (label, _) in CHANGES.items()
            }
        shown = gradio.HTML(talk.html, elem_id="talk", js_on_load=_THUMBS)
        with gradio.Row(equal_height=True):
            said = gradio.Textbox(
                label="Message", placeholder="Hello!", scale=4, elem_id="message", autofocus=True
            )
            must_say = gradio.Textbox(
                label="Right answer, if there is one",
                placeholder="30 days | thirty days",
                scale=2,
                elem_id="must_say",
            )
            send = gradio.Button("Send", variant="primary", elem_id="send", scale=0, min_width=110)

        # One at a time: a talk is no place for two turns at once.
        once = {"concurrency_limit": 1, "concurrency_id": "talk", "api_visibility": "private"}

        def say(text: str, wordings: str) -> Iterator[tuple[str, str, str]]:
            with _mistakes(gradio):
                for html in talk.say(text, wordings):
                    yield html, "", ""

        def rate(event: Any) -> str:
            with _mistakes(gradio):
                return talk.rate(event.row, event.name, event.thumb)

        # Gradio passes the event to a parameter of this type, which only exists where gradio does.
        rate.__annotations__["event"] = gradio.EventData

        def changing(kind: str) -> Callable[[str], str]:
            def changed(text: str) -> str:
                with _mistakes(gradio):
                    return talk.change(kind, text)

            return changed

        gradio.on(
            [send.click, said.submit, must_say.submit], say, [said, must_say],
            [shown, said, must_say], **once,
        )  # fmt: skip
        shown.click(rate, None, shown, **once)
        for name, button in buttons.items():
            button.click(changing(name), instruction, shown, **once)
    return page


@contextmanager
def _mistakes(gradio: Any) -> Iterator[None]:
    """Show a mistake of the user as one line on the page."""
    try:
        yield
    except GattError as error:
        raise gradio.Error(" ".join(str(error).split()), print_exception=False) from None
