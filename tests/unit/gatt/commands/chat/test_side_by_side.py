"""The same messages to two models: what the page of `gatt chat --web` shows and stores."""

from __future__ import annotations

import html
import json
import re
import sys
from pathlib import Path

import pytest

import gatt.commands.chat.command as command
import gatt.commands.chat.web as web
from gatt.cli import main
from gatt.commands.chat.conversation import Chat, from_entry
from gatt.commands.chat.side_by_side import SideBySide
from gatt.errors import CatalogError, ConfigError, DataError
from gatt.generation.base import SamplingParams
from tests.unit.gatt.commands.chat.test_conversation import CATALOG, FRENCH, Recorder


def pair(base: Recorder, gatt: Recorder, ratings: Path = Path("ratings.jsonl")) -> SideBySide:
    french = from_entry(CATALOG().entry("language.fr"))
    chats = {
        name: Chat(engine=engine, params=SamplingParams(), catalog=CATALOG, first=french)
        for name, engine in (("base", base), ("GAtt", gatt))
    }
    return SideBySide(chats, ratings)


def lengths(engine: Recorder) -> list[int]:
    return [len(request.messages) for request in engine.requests]


def chips(page: str) -> list[str]:
    return [
        html.unescape(" ".join(re.sub("<.*?>", "", found).split()))
        for found in re.findall(r'<span class="chip.*?</span>', page, re.DOTALL)
    ]


def test_replies_come_one_by_one_and_one_that_fails_leaves_the_other() -> None:
    base, gatt = Recorder("It rains today.", ""), Recorder(FRENCH, FRENCH)
    talk = pair(base, gatt)
    pages = list(talk.say("Hello <b>"))
    assert [len(chips(page)) for page in pages] == [0, 2, 4]
    assert "Hello &lt;b&gt;" in pages[0]
    *_, page = talk.say("And now?")
    assert [chip[:11] for chip in chips(page)[4:]] == ["no reply: t", "✓ keeps: pa", "✗ answers: "]
    # A reply that is said again is none, whatever the turn expects.
    assert "fail" in chips(page)[-1]
    assert lengths(base) == lengths(gatt) == [2, 4]
    assert "kept in 2 of 2 replies" in page
    with pytest.raises(DataError):
        next(talk.say("  "))


@pytest.mark.parametrize(
    ("must_say", "status"),
    [("trente jours | 30 days", "pass"), ("14 jours", "fail"), (" | ", "not judged"), ("", "not judged")],
)  # fmt: skip
def test_a_reply_answers_where_the_page_was_told_the_answer(must_say: str, status: str) -> None:
    reply = "Vous avez 30 days pour rendre les bottes."
    *_, page = pair(Recorder(reply), Recorder(reply)).say("How long?", must_say)
    found = [chip for chip in chips(page) if "answers" in chip]
    assert [chip.split(": ")[1].split(",")[0] for chip in found] == [status, status]


def test_the_instruction_changes_for_both() -> None:
    base, gatt = (
        Recorder("One.", "One more.", "And one."),
        Recorder("Two.", "Two more.", "And two."),
    )
    talk = pair(base, gatt)
    list(talk.say("Hello"))
    for change in ("replace", "start"):
        with pytest.raises(CatalogError, match=r"language\.fr"):
            talk.change(change, "language.frr")
    with pytest.raises(DataError):
        talk.change("replace", " ")
    assert "from the next message on</b> no instruction" in talk.change("cancel")
    with pytest.raises(DataError):
        talk.change("cancel")
    assert "from the next message on</b> You" in talk.change("replace", "hobby.tennis")
    *_, page = talk.say("Hi")
    assert "from here on" in page
    assert lengths(base) == lengths(gatt) == [2, 4]
    assert "replies are not judged" in talk.change("start", "Be kind.")
    assert "no instruction" in talk.change("start", "")
    assert "no instruction" in talk.change("start", "")
    list(talk.say("Hi"))
    assert lengths(base)[-1] == lengths(gatt)[-1] == 1


def test_a_thumb_adds_a_line_with_what_was_rated(tmp_path: Path) -> None:
    path = tmp_path / "new" / "ratings.jsonl"
    talk = pair(Recorder("One.", ""), Recorder(FRENCH, FRENCH), path)
    list(talk.say("Hello"))
    list(talk.say("Again"))
    assert talk.rate(0, "GAtt", "up").count('aria-pressed="true"') == 1
    assert talk.rate(0, "GAtt", "down").count('aria-pressed="true"') == 1
    for row, name in ((1, "base"), (2, "GAtt"), (-1, "GAtt"), (0, "other")):
        with pytest.raises(DataError):
            talk.rate(row, name, "up")
    rated = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line["rating"] for line in rated] == ["up", "down"]
    assert rated[0]["case"] == rated[1]["case"]
    assert {k: rated[0][k] for k in ("arm", "turn", "message", "reply")} == {
        "arm": "GAtt", "turn": 1, "message": "Hello", "reply": FRENCH,
    }  # fmt: skip
    assert "French" in rated[0]["instruction"]
    with pytest.raises(DataError):
        talk.rate(0, "GAtt", "sideways")  # type: ignore[arg-type]
    talk = pair(Recorder("One."), Recorder(FRENCH), tmp_path)
    list(talk.say("Hello"))
    with pytest.raises(DataError, match=re.escape(str(tmp_path))):
        talk.rate(0, "base", "up")


@pytest.mark.parametrize("place", [[], ["--server=http://localhost:1/v1"]])
def test_the_command_serves_base_and_adapter(place, monkeypatch) -> None:
    served: list[tuple[SideBySide, int]] = []
    engine = Recorder("One.", FRENCH)
    monkeypatch.setattr(command, "local_engine", lambda *_: engine)
    monkeypatch.setattr(command, "make_engine", lambda *_: engine)
    monkeypatch.setattr(web, "serve", lambda talk, port: served.append((talk, port)))
    words = ["chat", "--web", "--model=m", "--entry=language.fr", "--port=7000", *place]
    assert main([*words, "--adapter=some/dir"]) == 0
    ((talk, port),) = served
    *_, page = talk.say("Hello")
    assert port == 7000
    assert re.findall(r'class="reply" data-arm="(\w+)"', page) == ["base", "GAtt"]
    assert engine.adapters == [None, command.ADAPTER]
    assert main(words) == 0
    assert re.findall(r"<b>(base|GAtt)</b>", served[1][0].html()) == ["base"]


def test_without_gradio_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gradio", None)
    with pytest.raises(ConfigError, match=r"\[web\]"):
        web.serve(pair(Recorder(), Recorder()), 0)
