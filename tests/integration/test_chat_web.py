"""`gatt chat --web` in a browser: typed into, clicked through and photographed, with no word to the net."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from gatt.commands.chat.conversation import Chat, from_entry
from gatt.commands.chat.side_by_side import SideBySide
from gatt.commands.chat.web import HOST, serve
from gatt.data.catalog.read import load_catalog
from gatt.generation.base import GenerationRequest, SamplingParams
from tests.support.runs.stages import RecordingEngine
from tests.support.texts.browser import running_browser

pytestmark = pytest.mark.integration

FRENCH = "Vous pouvez rendre les bottes pendant <b>30 jours</b>."
ENGLISH = "It rains in the hills today, so we stay at home."


def french(request: GenerationRequest) -> str:
    """Return French while only one instruction was given."""
    return ENGLISH if len(request.messages) > 2 else FRENCH


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    pytest.importorskip("gradio", reason="gradio, of the extra `web`, is not installed")
    chats = {
        name: Chat(
            engine=RecordingEngine(reply),
            params=SamplingParams(),
            first=from_entry(load_catalog().entry("language.fr")),
            adapter=adapter,
        )
        for name, reply, adapter in (("base", lambda _: ENGLISH, None), ("GAtt", french, "adapter"))
    }
    server = serve(SideBySide(chats, tmp_path / "ratings.jsonl"), 0, is_waiting=False)
    yield server.local_url
    server.close()


def test_both_models_are_talked_to_judged_and_rated(address: str, tmp_path: Path) -> None:
    asked: set[str | None] = set()
    problems: list[str] = []
    with running_browser() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(60_000)
        page.on("request", lambda request: asked.add(urlsplit(request.url).hostname))
        page.on("pageerror", lambda error: problems.append(str(error)))
        # Once it asks for the talk it hears clicks.
        with page.expect_request("**/queue/join*"):
            page.goto(address)

        def chips(arm: str) -> list[str]:
            return page.locator(f".reply[data-arm={arm}] .chip").all_inner_texts()

        def say(text: str, num_turns: int, must_say: str = "") -> None:
            page.fill("#message textarea", text)
            page.fill("#must_say textarea", must_say)
            page.click("#send")
            page.wait_for_function(
                "count => document.querySelectorAll('.talk .thumb').length >= count",
                arg=4 * num_turns,
            )

        assert page.locator("#instruction textarea").input_value() == "language.fr"
        say("How long can I return <i>boots</i>?", 1, "30 jours | 30 days")
        assert page.locator(".said").inner_text() == "How long can I return <i>boots</i>?"
        assert page.locator(".reply[data-arm=GAtt] .text").inner_text() == FRENCH
        assert [re.split("[:,]", chip)[:2] for chip in chips("base")] == [
            ["✗ keeps", " fail"], ["✗ answers", " fail"],
        ]  # fmt: skip
        assert [re.split("[:,]", chip)[:2] for chip in chips("GAtt")] == [
            ["✓ keeps", " pass"], ["✓ answers", " pass"],
        ]  # fmt: skip
        assert "kept in 1 of 1 replies" in page.locator(".head", has_text="GAtt").inner_text()

        for arm, thumb in (("GAtt", "down"), ("GAtt", "up"), ("base", "down")):
            page.click(f".thumb[data-name={arm}][data-thumb={thumb}]")
            page.locator(
                f".thumb[data-name={arm}][data-thumb={thumb}][aria-pressed=true]"
            ).wait_for()
        picture = tmp_path / "chat.png"
        page.screenshot(path=picture, full_page=True)
        assert picture.stat().st_size > 10_000

        page.click("#cancel")
        page.locator(".holds", has_text="no instruction").wait_for()
        say("And now?", 2)
        page.locator(".holds", has_text="from here on no instruction").wait_for()
        assert chips("GAtt")[-2:] == ["– keeps: not judged", "– answers: not judged"]
        page.fill("#instruction textarea", "language.frr")
        page.click("#replace")
        page.get_by_text("did you mean 'language.fr'").wait_for()

        page.fill("#instruction textarea", "Be kind.")
        page.click("#start")
        page.locator(".empty").wait_for()
        assert "Be kind." in page.locator(".holds").inner_text()
    assert asked == {HOST}
    assert not problems
    lines = (tmp_path / "ratings.jsonl").read_text(encoding="utf-8").splitlines()
    rated = [json.loads(line) for line in lines]
    assert [(r["arm"], r["turn"], r["rating"]) for r in rated] == [
        ("GAtt", 1, "down"), ("GAtt", 1, "up"), ("base", 1, "down"),
    ]  # fmt: skip
    assert rated[1]["reply"] == FRENCH
    assert len({r["case"] for r in rated}) == 1
