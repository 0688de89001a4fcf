"""`gatt chat --web` in a browser: typed into and clicked through, with no word to the net."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from gatt.commands.chat.conversation import Chat, from_entry
from gatt.commands.chat.web import HOST, SideBySide, serve
from gatt.data.catalog.read import load_catalog
from gatt.generation.base import GenerationRequest, SamplingParams
from tests.support.runs.stages import RecordingEngine
from tests.support.texts.browser import running_browser

pytestmark = pytest.mark.integration

FRENCH = "Bonjour, je suis ravi de vous voir ici <b>aujourd'hui</b>."
ENGLISH = "It rains in the hills today, so we stay at home."


def french(request: GenerationRequest) -> str:
    """Speak French until the instruction is cancelled."""
    is_changed = any(m.role == "system" for m in request.messages[1:])
    return ENGLISH if is_changed else FRENCH


@pytest.fixture
def address() -> Iterator[str]:
    pytest.importorskip("gradio", reason="gradio, of the extra `web`, is not installed")
    told = from_entry(load_catalog().entry("language.fr"))
    chats = {
        name: Chat(RecordingEngine(reply), SamplingParams(), instruction=told, adapter=adapter)
        for name, reply, adapter in (("base", lambda _: ENGLISH, None), ("GAtt", french, "adapter"))
    }
    server = serve(SideBySide(chats), 0, is_waiting=False)
    yield server.local_url
    server.close()


def test_both_models_are_talked_to_and_judged(address: str) -> None:
    asked: set[str | None] = set()
    problems: list[str] = []
    with running_browser() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.set_default_timeout(60_000)
        page.on("request", lambda request: asked.add(urlsplit(request.url).hostname))
        page.on("pageerror", lambda error: problems.append(str(error)))
        # Once it asks for the talk it hears clicks.
        with page.expect_request("**/queue/join*"):
            page.goto(address)

        def chips(arm: str) -> list[str]:
            return page.locator(f".reply[data-arm={arm}] .chip").all_inner_texts()

        def say(text: str, num_turns: int) -> None:
            page.fill("#message textarea", text)
            page.click("#send")
            page.wait_for_function(
                "count => document.querySelectorAll('.talk .chip').length >= count",
                arg=2 * num_turns,
            )

        assert page.locator("#instruction textarea").input_value() == "language.fr"
        say("Hello <i>you</i>", 1)
        assert page.locator(".said").inner_text() == "Hello <i>you</i>"
        assert page.locator(".reply[data-arm=GAtt] .text").inner_text() == FRENCH
        assert chips("base")[0].startswith("✗ fail: ")
        assert chips("GAtt")[0].startswith("✓ pass: ")
        assert "kept in 1 of 1 replies" in page.locator(".head", has_text="GAtt").inner_text()

        page.click("#cancel")
        page.locator(".holds", has_text="no instruction").wait_for()
        say("And now?", 2)
        page.locator(".holds", has_text="from here on no instruction").wait_for()
        assert chips("GAtt")[-1] == "– not judged"
        page.fill("#instruction textarea", "hobby.tennis")
        page.click("#add")
        page.locator(".holds", has_text="tennis").wait_for()
        page.fill("#instruction textarea", "language.frr")
        page.click("#replace")
        page.get_by_text("did you mean 'language.fr'").wait_for()
        page.click("#retry")
        page.locator(".waiting").wait_for(state="detached")

        page.fill("#instruction textarea", "Be kind.")
        page.click("#start")
        page.locator(".empty").wait_for()
        assert "Be kind." in page.locator(".holds").inner_text()
    assert asked == {HOST}
    assert not problems
