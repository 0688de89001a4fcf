"""`gatt chat --web`: the models side by side on a page of this machine. Needs gradio, an extra."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

from gatt.commands.chat.side_by_side import SideBySide
from gatt.errors import ConfigError, GattError
from gatt.stages.plan import print_line

HOST = "127.0.0.1"
"""This machine alone: whoever reaches the page can talk to the model."""
_THUMBS = """element.addEventListener('click', ({target}) => {
  if (target.dataset.thumb) trigger('click', {...target.dataset});
});"""


def serve(talk: SideBySide, port: int, *, is_waiting: bool = True) -> Any:
    """Serve the page until Ctrl-C, and return gradio's server.

    All tabs show the same talk. Nothing is sent anywhere: no analytics, no share link, no fonts of others.

    Port 0 is any free one. With `is_waiting` the call comes back only when it is interrupted.

    Raises:
        ConfigError: gradio is not installed, or the port is taken.
    """
    os.environ.update(GRADIO_ANALYTICS_ENABLED="False", HF_HUB_DISABLE_TELEMETRY="1")
    try:
        import gradio
    except ImportError:
        raise ConfigError("--web needs gradio: pip install 'ghost-attention[web]'") from None
    page, fonts = _page(gradio, talk), (("system-ui", "sans-serif"), ("ui-monospace", "monospace"))
    try:
        page.launch(
            server_name=HOST, server_port=port or None, share=False, prevent_thread_lock=True,
            quiet=True, ssr_mode=False, enable_monitoring=False, run_history=False, footer_links=[],
            css=files("gatt.commands.chat").joinpath("talk.css").read_text(encoding="utf-8"),
            theme=gradio.themes.Base(font=fonts[0], font_mono=fonts[1]),
        )  # fmt: skip
    except OSError:
        raise ConfigError(f"--port {port} is taken or refused: name another one") from None
    print_line(f"{page.local_url} (Ctrl-C ends it)")
    if is_waiting:
        page.block_thread()
    return page


def _page(gradio: Any, talk: SideBySide) -> Any:
    """Return the page: an instruction box, what changes it, the talk, and a box to say something."""

    def box(name: str, label: str, shown: str, scale: int, **settings: Any) -> Any:
        return gradio.Textbox(label=label, placeholder=shown, scale=scale, elem_id=name, **settings)

    def button(name: str, label: str, **settings: Any) -> Any:
        return gradio.Button(label, elem_id=name, scale=0, min_width=110, **settings)

    def say(text: str, wordings: str) -> Iterator[tuple[str, str, str]]:
        with _mistakes(gradio):
            yield from ((html, "", "") for html in talk.say(text, wordings))

    def rate(event: Any) -> str:
        with _mistakes(gradio):
            return talk.rate(int(event.row), event.name, event.thumb)

    def change(kind: str, text: str) -> str:
        with _mistakes(gradio):
            return talk.change(kind, text)

    # Gradio passes the event to a parameter of this type, which only exists where gradio does.
    rate.__annotations__["event"] = gradio.EventData
    # One at a time: a talk is no place for two turns at once.
    once = {"concurrency_limit": 1, "concurrency_id": "talk", "api_visibility": "private"}
    given = (held.id if held.entries else held.text) if (held := talk.instruction) else ""
    labels = {"start": "Start anew", "replace": "Replace", "cancel": "Cancel"}
    with gradio.Blocks(title="gatt chat", analytics_enabled=False) as page:
        with gradio.Row(equal_height=True):
            label = "Instruction: an entry of the catalogue, or words of your own"
            instruction = box("instruction", label, "language.fr", 3, value=given)
            buttons = {kind: button(kind, label) for kind, label in labels.items()}
        shown = gradio.HTML(talk.html, elem_id="talk", js_on_load=_THUMBS)
        with gradio.Row(equal_height=True):
            said = box("message", "Message", "Hello!", 4, autofocus=True)
            must = box("must_say", "Right answer, if there is one", "30 days | thirty days", 2)
            send = button("send", "Send", variant="primary")
        boxes = [said, must]
        gradio.on([send.click, said.submit, must.submit], say, boxes, [shown, *boxes], **once)
        shown.click(rate, None, shown, **once)
        for kind, pressed in buttons.items():
            pressed.click(change, [gradio.State(kind), instruction], shown, **once)
    return page


@contextmanager
def _mistakes(gradio: Any) -> Iterator[None]:
    """Show a mistake of the user as one line on the page."""
    try:
        yield
    except GattError as error:
        raise gradio.Error(" ".join(str(error).split()), print_exception=False) from None
