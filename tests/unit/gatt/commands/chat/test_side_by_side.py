"""The same messages to two models: what the page of `gatt chat --web` shows."""

from __future__ import annotations

import html
import re
import sys
from typing import Any

import pytest

import gatt.commands.chat.command as command
import gatt.commands.chat.web as web
from gatt.cli import main
from gatt.commands.chat.conversation import Chat
from gatt.commands.chat.instructions import Namer, from_entry
from gatt.commands.chat.side_by_side import SideBySide
from gatt.data.catalog.read import load_catalog
from gatt.errors import CatalogError, ConfigError, DataError
from gatt.generation.base import Generation, SamplingParams
from tests.support.models.tiny import tiny_tokenizer

FRENCH = "Bonjour, je suis ravi de vous voir ici aujourd'hui."


class Engine:
    """Gives its replies in turn; keeps how many messages each request had."""

    tokenizer = tiny_tokenizer()

    def __init__(self, *replies: str) -> None:
        self.replies, self.lengths = list(replies), list[int]()

    def generate(self, requests: Any, params: Any, adapter: str | None = None) -> list[Generation]:
        self.lengths.append(len(requests[0].messages))
        text = self.replies.pop(0)
        return [Generation(text, "stop" if text else "context_limit", 1)]


def pair(base: Engine, gatt: Engine) -> SideBySide:
    french = from_entry(load_catalog().entry("language.fr"))
    chats = {
        name: Chat(engine, SamplingParams(), instruction=french)
        for name, engine in (("base", base), ("GAtt", gatt))
    }
    return SideBySide(chats, Namer(load_catalog))


def chips(page: str) -> list[str]:
    return [
        html.unescape(" ".join(re.sub("<.*?>", "", found).split()))
        for found in re.findall(r'<span class="chip.*?</span>', page, re.DOTALL)
    ]


def test_replies_come_one_by_one_and_one_that_fails_leaves_the_other() -> None:
    base, gatt = Engine("It rains in the hills today.", "", "Rain again."), Engine(*[FRENCH] * 3)
    talk = pair(base, gatt)
    pages = list(talk.say("Hello <b>"))
    assert [len(chips(page)) for page in pages] == [0, 1, 2]
    assert "Hello &lt;b&gt;" in pages[0]
    assert [chip[:6] for chip in chips(pages[-1])] == ["✗ fail", "✓ pass"]
    *_, page = talk.say("And now?")
    assert "no reply: the model's context is full after 1 turns" in chips(page)[2]
    assert chips(page)[3].startswith("✓ pass")
    *_, page = talk.retry()
    # What failed is asked for the first time.
    assert (base.lengths, gatt.lengths) == ([2, 4, 4], [2, 4, 4])
    assert "kept in 0 of 2 replies" in page
    assert "kept in 2 of 2 replies" in page


def test_the_instruction_changes_for_both() -> None:
    base, gatt = Engine(*["One."] * 3), Engine(*["Two."] * 3)
    talk = pair(base, gatt)
    with pytest.raises(DataError):
        next(talk.retry())
    with pytest.raises(DataError):
        next(talk.say("  "))
    list(talk.say("Hello"))
    for change in (talk.replace, talk.add, talk.start):
        with pytest.raises(CatalogError, match=r"language\.fr"):
            change("language.frr")
    with pytest.raises(DataError, match=r"language\.fr"):
        talk.add("language.de")
    talk.cancel()
    assert "from the next message on" not in talk.html()
    assert "no instruction" in talk.html()
    talk.replace("hobby.tennis")
    assert "from the next message on" in talk.html()
    *_, page = talk.say("Hi")
    assert "from here on" in page
    assert base.lengths == gatt.lengths == [2, 5]
    talk.start("Be kind.")
    assert "replies are not judged" in talk.html()
    talk.start("")
    list(talk.say("Hi"))
    assert base.lengths[-1] == gatt.lengths[-1] == 1


def test_the_command_serves_base_and_adapter(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    served: list[tuple[SideBySide, int]] = []
    engine = Engine("One.", FRENCH)
    monkeypatch.setattr(command, "local_engine", lambda *_: engine)
    monkeypatch.setattr(web, "serve", lambda talk, port: served.append((talk, port)))
    words = ["chat", "--web", "--model=m", "--entry=language.fr", "--port=7000"]
    assert main([*words, "--adapter=some/dir"]) == 0
    ((talk, port),) = served
    *_, page = talk.say("Hello")
    assert port == 7000
    assert re.findall(r'data-arm="(\w+)"', page) == ["base", "GAtt"]
    assert main(words) == 0
    assert re.findall(r"<b>(base|GAtt)</b>", served[1][0].html()) == ["base"]


def test_without_gradio_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gradio", None)
    with pytest.raises(ConfigError, match=r"\[web\]"):
        web.serve(pair(Engine(), Engine()), 0)
