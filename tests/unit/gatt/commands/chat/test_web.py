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
from gatt.commands.chat.conversation import Chat, from_entry
from gatt.commands.chat.web import SideBySide
from gatt.errors import CatalogError, ConfigError, DataError
from gatt.generation.base import SamplingParams
from tests.unit.gatt.commands.chat.test_conversation import CATALOG, FRENCH, Recorder


def pair(base: Recorder, gatt: Recorder) -> SideBySide:
    french = from_entry(CATALOG().entry("language.fr"))
    return SideBySide({
        name: Chat(engine, SamplingParams(), catalog=CATALOG, instruction=french)
        for name, engine in (("base", base), ("GAtt", gatt))
    })  # fmt: skip


def lengths(engine: Recorder) -> list[int]:
    return [len(request.messages) for request in engine.requests]


def chips(page: str) -> list[str]:
    return [
        html.unescape(" ".join(re.sub("<.*?>", "", found).split()))
        for found in re.findall(r'<span class="chip.*?</span>', page, re.DOTALL)
    ]


def test_replies_come_one_by_one_and_one_that_fails_leaves_the_other() -> None:
    base, gatt = (
        Recorder("It rains in the hills today.", "", "Rain again."),
        Recorder(*[FRENCH] * 3),
    )
    talk = pair(base, gatt)
    pages = list(talk.say("Hello <b>"))
    assert [len(chips(page)) for page in pages] == [0, 1, 2]
    assert "Hello &lt;b&gt;" in pages[0]
    assert [chip[:6] for chip in chips(pages[-1])] == ["✗ fail", "✓ pass"]
    *_, page = talk.say("And now?")
    assert "no reply: the model gave an empty reply" in chips(page)[2]
    assert chips(page)[3].startswith("✓ pass")
    *_, page = talk.retry()
    # What failed is asked for the first time.
    assert lengths(base) == lengths(gatt) == [2, 4, 4]
    assert "kept in 0 of 2 replies" in page
    assert "kept in 2 of 2 replies" in page


def test_the_instruction_changes_for_both() -> None:
    base, gatt = Recorder(*["One."] * 3), Recorder(*["Two."] * 3)
    talk = pair(base, gatt)
    with pytest.raises(DataError):
        next(talk.retry())
    with pytest.raises(DataError):
        next(talk.say("  "))
    list(talk.say("Hello"))
    for change in ("replace", "add", "start"):
        with pytest.raises(CatalogError, match=r"language\.fr"):
            talk.change(change, "language.frr")
    with pytest.raises(DataError, match=r"language\.fr"):
        talk.change("add", "language.de")
    assert "from the next message on</b> no instruction" in talk.change("cancel")
    assert "from the next message on</b> You" in talk.change("replace", "hobby.tennis")
    *_, page = talk.say("Hi")
    assert "from here on" in page
    assert lengths(base) == lengths(gatt) == [2, 5]
    assert "replies are not judged" in talk.change("start", "Be kind.")
    talk.change("start", "")
    list(talk.say("Hi"))
    assert lengths(base)[-1] == lengths(gatt)[-1] == 1


def test_the_command_serves_base_and_adapter(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    served: list[tuple[SideBySide, int]] = []
    engine = Recorder("One.", FRENCH)
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
        web.serve(pair(Recorder(), Recorder()), 0)
