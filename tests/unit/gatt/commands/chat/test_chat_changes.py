"""The instruction changes in the middle of a conversation in the terminal."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

import gatt.commands.chat.command as command
from gatt.cli import main
from gatt.commands.chat.conversation import Chat, from_entry, from_text
from gatt.data.catalog.read import load_catalog
from gatt.data.catalog.switch_wording import TRAINING
from gatt.data.dialogue import read_dialogues
from gatt.errors import GenerationError
from gatt.generation.base import SamplingParams
from tests.support.models.tiny import CHATML, NO_SYSTEM, tiny_tokenizer
from tests.unit.gatt.commands.chat.test_conversation import (
    CATALOG,
    FRENCH,
    ROWERS,
    Recorder,
    chat,
    terminal,
)

ENGLISH = "It rains in the hills today, so we stay at home."
NAPOLEON = "I am Napoleon Bonaparte, and I am ready to help you."


def entry(name: str):
    return from_entry(CATALOG().entry(name))


def announced(kind: str, new: str = "") -> set[str]:
    return {text.format(new=new) for text in TRAINING.texts[kind, "verbose"]}


def test_it_is_told_once_before_the_next_message_and_judges_from_there_on() -> None:
    french, napoleon = entry("language.fr"), entry("figure.napoleon")
    talk, engine = chat(FRENCH, FRENCH, NAPOLEON, first=french)
    assert talk.say("Hello").status == "pass"
    talk.replace("figure.napoleon")
    assert talk.instruction == napoleon
    old = talk.say("Who is there?")
    assert (old.status, old.is_leak) == ("fail", True)
    new = talk.say("And you?")
    assert (new.status, new.is_leak) == ("pass", False)
    first, user, reply, told, *later = engine.asked(2)
    assert [first, user, reply] == [
        ("system", french.text),
        ("user", "Hello"),
        ("assistant", FRENCH),
    ]
    assert told[0] == "system"
    assert told[1] in announced("replace", napoleon.text)
    assert later == [("user", "Who is there?"), ("assistant", FRENCH), ("user", "And you?")]


def test_what_is_added_holds_beside_the_first() -> None:
    french, digits = entry("language.fr"), entry("format.with_number")
    talk, engine = chat(FRENCH, FRENCH, first=french)
    talk.say("Hello")
    talk.add("format.with_number")
    assert talk.instruction is not None
    assert talk.instruction.verifiers == (*french.verifiers, *digits.verifiers)
    reply = talk.say("And now?")
    assert (reply.status, reply.is_leak) == ("fail", False)
    assert engine.asked(1)[3][1] in announced("add", digits.text)


def test_before_the_first_message_it_stands_in_turn_1() -> None:
    talk, engine = chat("One.", "Two.", first=from_text("Be kind."))
    talk.add("Be brief.")
    talk.say("Hello")
    assert engine.asked(0) == [("system", "Be kind. Be brief."), ("user", "Hello")]
    talk.reset()
    talk.cancel()
    talk.say("Hi")
    assert engine.asked(1) == [("user", "Hi")]


def test_the_next_message_carries_what_several_changes_come_to() -> None:
    def told(*changes: str, first: str = "Be kind.") -> list[str]:
        talk, engine = chat("One.", "Two.", first=from_text(first) if first else None)
        talk.say("Hello")
        for change in changes:
            name, _, word = change.partition(" ")
            getattr(talk, name)(*([f"Be {word}."] if word else []))
        talk.say("Hi")
        return [text for role, text in engine.asked(1)[1:] if role == "system"]

    (text,) = told("cancel", "replace brief")
    assert text in announced("replace", "Be brief.")
    (text,) = told("cancel", "add brief")
    assert text in announced("replace", "Be brief.")
    (text,) = told("replace brief", "add odd")
    assert text in announced("replace", "Be brief. Be odd.")
    (text,) = told("add brief", "add odd")
    assert text in announced("replace", "Be kind. Be brief. Be odd.")
    (text,) = told("add brief", "cancel")
    assert text in announced("cancel")
    # Nothing was told, and nothing holds.
    assert told("replace brief", "cancel", first="") == []
    # The same commands, the same words.
    assert told("replace odd") == told("replace odd")


def test_a_turn_that_failed_keeps_the_change(tmp_path: Path) -> None:
    talk, engine = chat("One.", " ", "Two.", first=from_text("Be kind."))
    talk.say("Hello")
    talk.replace("Be brief.")
    # Its message is still to come: the dialogue is saved without it.
    talk.save(tmp_path / "talk.jsonl")
    saved = json.loads((tmp_path / "talk.jsonl").read_text(encoding="utf-8"))
    assert [m["role"] for m in saved["messages"]] == ["system", "user", "assistant"]
    with pytest.raises(GenerationError, match="empty reply"):
        talk.say("Hi")
    talk.say("Hi")
    assert engine.asked(1) == engine.asked(2)
    assert [role for role, _ in engine.asked(2)].count("system") == 2
    # A second draw of the same turn is another one.
    assert len({r.key for r in engine.requests}) == 3
    # A file of dialogues stays one.
    talk.save(tmp_path / "talk.jsonl")
    *_, last = read_dialogues(tmp_path / "talk.jsonl")
    assert last.user_turns[1].split("\n\n")[0] in announced("replace", "Be brief.")


def test_commands() -> None:
    talk, engine = chat(FRENCH, FRENCH, "Good.", ENGLISH, first=entry("language.fr"))
    napoleon = entry("figure.napoleon").text
    out = terminal(
        talk, "Hello", "/replace figure.napoleon", "Who?", "/add Be brief.", "More", "/cancel", "So?"
    )  # fmt: skip
    before = "(from your next message on: "
    assert f"{before}{napoleon})\n" in out
    assert f"{before}{napoleon} Be brief. (its free text is not judged))\n" in out
    assert f"{before}no instruction)\n" in out
    assert out.count("(still follows the earlier instruction)") == 1
    assert out.endswith("kept in 1 of 3 replies\n")
    assert len(engine.requests) == 4


def test_an_id_is_one_word_that_begins_with_a_family(tmp_path: Path) -> None:
    (tmp_path / "rowers.yaml").write_text(ROWERS, encoding="utf-8")
    talk = Chat(
        engine=Recorder("I row."), params=SamplingParams(), catalog=lambda: load_catalog(tmp_path)
    )
    lines = ["/replace rower.ann", "Hello", "/replace example.com", "/replace rower.ann x"]
    shown = terminal(talk, *lines)
    assert "(the dialogue starts over: Speak of rowing.)\n" in shown
    assert "✓ | I row." in shown
    assert "message on: example.com (free text" in shown
    assert "message on: rower.ann x (free text" in shown


def test_what_excludes_each_other_is_not_added() -> None:
    talk, engine = chat(FRENCH, FRENCH, first=entry("language.fr"))
    out = terminal(talk, "Hello", "/add language.de", "/add language.fr", "More")
    assert "! language.de cannot hold beside language.fr: /replace it\n" in out
    assert "! language.fr cannot hold beside language.fr: /replace it\n" in out
    assert [role for role, _ in engine.asked(1)].count("system") == 1


@pytest.mark.parametrize(
    ("template", "words", "place"),
    [(None, [], "system"), (None, ["--switch-place", "user"], "user"), (NO_SYSTEM, [], "user")],
)
def test_the_command_tells_it_where_the_template_can_show_it(
    monkeypatch: pytest.MonkeyPatch, template: str | None, words: list[str], place: str
) -> None:
    engine = Recorder("One.", "Two.")
    engine.tokenizer = tiny_tokenizer(template or CHATML)
    monkeypatch.setattr(command, "local_engine", lambda config, adapters: engine)
    monkeypatch.setattr(sys, "stdin", io.StringIO("Hello\n/replace Be brief.\nHi\n"))
    assert main(["chat", "--instruction", "Be kind.", *words]) == 0
    assert engine.asked(1)[-2][0] == ("system" if place == "system" else "assistant")
    assert ("Be brief." in engine.asked(1)[-1][1]) == (place == "user")
