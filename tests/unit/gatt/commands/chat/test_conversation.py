"""The conversation: instruction once, own history, verdicts, commands."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import gatt.commands.chat.command as command
from gatt.cli import main
from gatt.commands.chat.command import Terminal
from gatt.commands.chat.conversation import Chat, from_entry, from_text
from gatt.data.catalog.read import load_catalog
from gatt.data.catalog.switch_wording import TRAINING
from gatt.errors import GenerationError
from gatt.generation.base import FinishReason, Generation, SamplingParams
from gatt.models.template_variables import write_variables
from gatt.verifiers.spec import VerifierSpec
from tests.support.models.tiny import tiny_tokenizer
from tests.support.runs.stages import RecordingEngine
from tests.support.servers.faulty_server import (
    Answer,
    Asked,
    FaultyServer,
    completion,
    shorten_pauses,
)
from tests.support.texts.small_catalog import write_catalog

TENNIS = replace(
    from_text("You enjoy tennis."),
    id="hobby.tennis",
    verifiers=(VerifierSpec("terms", {"any_of": ["tennis", "racket"]}),),
)


CATALOG = cache(load_catalog)
FRENCH = "Bonjour, je suis ravi de vous voir ici aujourd'hui."
NAPOLEON = "I am Napoleon Bonaparte, and I am ready to help you."


def announced(kind: str, new: str = "") -> set[str]:
    return {text.format(new=new) for text in TRAINING.texts[kind, "verbose"]}


class Recorder(RecordingEngine):
    """Gives its replies in turn."""

    tokenizer = tiny_tokenizer()

    def __init__(self, *replies: str, finish: FinishReason = "stop") -> None:
        left = list(replies)
        super().__init__(lambda _: Generation(left.pop(0), finish, 1))

    @property
    def adapters(self) -> list[str | None]:
        return [adapter for _, _, adapter in self.calls]

    def asked(self, number: int) -> list[tuple[str, str]]:
        return [(m.role, m.content) for m in self.requests[number].messages]


def chat(*replies: str, **options) -> tuple[Chat, Recorder]:
    engine = Recorder(*replies)
    return Chat(
        engine=engine, params=SamplingParams(max_new_tokens=20), catalog=CATALOG, **options
    ), engine


def test_the_instruction_stands_once_and_the_model_reads_its_own_replies() -> None:
    talk, engine = chat("I love tennis.", "Rain.", first=TENNIS, adapter="mine")
    talk.say("Hello")
    talk.say("And today?")
    assert engine.asked(1) == [
        ("system", "You enjoy tennis."),
        ("user", "Hello"),
        ("assistant", "I love tennis."),
        ("user", "And today?"),
    ]
    assert {r.group for r in engine.requests} == {"chat"}
    assert engine.adapters == ["mine", "mine"]


def test_a_change_is_told_once_before_the_next_message_and_judged_from_there_on() -> None:
    french, napoleon = (from_entry(CATALOG().entry(i)) for i in ("language.fr", "figure.napoleon"))
    talk, engine = chat(FRENCH, FRENCH, NAPOLEON, first=french)
    assert talk.say("Hello").status == "pass"
    talk.change("figure.napoleon")
    old, new = talk.say("Who is there?"), talk.say("And you?")
    # A role is broken by nothing but another one; that the old language is still spoken is the leak.
    assert (old.status, old.is_leak) == ("pass", True)
    assert (new.status, new.is_leak) == ("pass", False)
    assert engine.asked(2)[0] == ("system", french.text)
    told, _, asked = engine.asked(2)[3][1].partition("\n\n")
    assert told in announced("replace", napoleon.text)
    assert asked == "Who is there?"
    assert engine.asked(2)[-1] == ("user", "And you?")


@pytest.mark.parametrize(
    ("first", "changes", "kind"),
    [
        ("Be kind.", [None, "Be brief."], "replace"),
        ("Be kind.", ["Be brief.", None], "cancel"),
        ("", ["Be brief."], "add"),
        ("", ["Be brief.", None], ""),
    ],
)
def test_the_next_message_carries_what_several_changes_come_to(first, changes, kind) -> None:
    talk, engine = chat("One.", " ", "Two.", first=from_text(first) if first else None)
    talk.say("Hello")
    for change in changes:
        talk.change(change)
    # A turn that failed keeps the change; a second draw of the same turn is another one.
    with pytest.raises(GenerationError, match="empty reply"):
        talk.say("Hi")
    talk.say("Hi")
    assert engine.asked(1) == engine.asked(2)
    assert len({r.key for r in engine.requests}) == 3
    told, _, asked = engine.asked(1)[-1][1].rpartition("\n\n")
    assert asked == "Hi"
    assert told in ({"add": {"Be brief."}, "": {""}}.get(kind) or announced(kind, "Be brief."))


@pytest.mark.parametrize(
    ("finish", "fact"),
    [
        ("context_limit", "full after 0 turns"),
        ("length", "--max-new-tokens"),
        ("stop", "empty reply"),
    ],
)
def test_without_a_reply_the_reason_is_named_and_the_history_stays(finish: str, fact: str) -> None:
    talk = Chat(engine=Recorder("", finish=finish), params=SamplingParams())
    with pytest.raises(GenerationError, match=fact):
        talk.say("Hello")
    assert talk.num_turns == 0


def terminal(talk: Chat, *lines: str) -> str:
    out: list[str] = []
    Terminal(talk, out.append).run(iter(lines))
    return "".join(out)


def test_margin_shows_mark_and_evidence() -> None:
    talk, _ = chat(
        "I love tennis, it is my favourite thing.", "It rains in the hills today.", first=TENNIS
    )
    out = terminal(talk, "Hello", "", "Weather?", "/quit", "never read")
    assert "instruction, given once: You enjoy tennis.\n" in out
    assert "✓ | I love tennis" in out
    assert "✗ | It rains" in out
    assert out.endswith("kept in 1 of 2 replies\n")


def test_free_text_shows_a_dash_and_long_replies_wrap() -> None:
    long = chat("word " * 19 + "end " + "a b c " * 10, first=from_text("Be kind."))[0]
    out = terminal(long, "Hello")
    assert "(free text: replies are not judged)" in out
    assert "– | word" in out
    assert all(len(line) <= 100 for line in out.splitlines())
    cut = Chat(engine=Recorder("Part of it", finish="context_limit"), params=SamplingParams())
    assert "  |   (cut by the end of the context)" in terminal(cut, "Hello")


def test_commands_change_what_holds() -> None:
    talk, engine = chat("One.", "Two.", FRENCH, FRENCH, "So.")
    lines = ["/help", "Hello", "/reset", "Hi", "/reset", "/replace language.fr", "Hello again",
             "/replace example.com", "Who?", "/cancel", "So?"]  # fmt: skip
    out = terminal(talk, *lines)
    assert out.startswith("no instruction\n")
    assert "  /cancel " in out
    assert "(the dialogue starts over: no instruction)" in out
    assert engine.asked(1) == [("user", "Hi")]
    assert "✓ | Bonjour" in out
    # No family of the catalogue is called "example".
    assert "(from your next message on: example.com (free text" in out
    assert "(from your next message on: no instruction)\n" in out
    assert out.count("(still follows the earlier instruction)") == 1


def test_mistakes_are_one_line_and_the_talk_goes_on() -> None:
    talk, _ = chat("One.")
    out = terminal(talk, "/nothing", "/replace", "/cancel", "/replace language.fr1", "Hello")
    assert "! '/nothing' is no command: expected one of /replace" in out
    assert "! '/replace' is no command" in out
    assert "! nothing to cancel: no instruction holds" in out
    assert "! no catalogue entry 'language.fr1', did you mean 'language.fr'?" in out
    assert "– | One." in out


def test_interrupt_forgets_the_turn() -> None:
    class Interrupted:
        def generate(self, requests, params, adapter=None):
            raise KeyboardInterrupt

    talk = Chat(engine=Interrupted(), params=SamplingParams())
    assert "(stopped; that turn is forgotten)" in terminal(talk, "Hello")
    assert talk.num_turns == 0


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Recorder], list[object]]:
    """Make `gatt chat` read a text and answer from an engine; returns what made the engine."""

    def make(text: str, engine: Recorder) -> list[object]:
        asked: list[object] = []
        monkeypatch.setattr(command, "local_engine", lambda *args: asked.extend(args) or engine)
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        return asked

    return make


def test_ctrl_c_ends_the_command_whoever_types(piped, monkeypatch, capsys) -> None:
    class Interrupted(io.StringIO):
        def __next__(self):
            raise KeyboardInterrupt

    piped("", Recorder())
    monkeypatch.setattr(sys, "stdin", Interrupted())
    assert main(["chat", "--model=m"]) == 130
    assert capsys.readouterr().err.splitlines()[-1].startswith("gatt: interrupted")
    # At the prompt of a terminal it is how people leave.
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _: next(sys.stdin))
    assert main(["chat", "--model=m"]) == 0


def test_command_sets_the_variables_that_the_adapter_was_trained_with(piped, tmp_path) -> None:
    write_variables(tmp_path, {"enable_thinking": False, "mode": "short"})
    asked = piped("", Recorder())
    words = ["chat", f"--adapter={tmp_path}", "--model=m", "--chat-template-kwargs=mode=long"]
    assert main(words) == 0
    assert asked[0].chat_template_kwargs == {"enable_thinking": False, "mode": "long"}


def test_command_reads_piped_lines(piped, capsys) -> None:
    engine = Recorder(FRENCH, "I am well, thank you very much.")
    asked = piped("Hello\nHow <|im_end|>?\n/replace Be <|im_end|>\nHow are you?\n", engine)
    words = ["chat", "--entry", "language.fr", "--adapter", "some/dir", "--model", "m"]
    assert main([*words, "--max-new-tokens", "20"]) == 0
    out = capsys.readouterr().out
    assert "> Hello\n✓ | Bonjour" in out
    assert out.count("! your text: the text holds the control token '<|im_end|>'") == 2
    assert "✗ | I am well" in out
    assert asked[0].model == "m"
    assert asked[1] == {"adapter": Path("some/dir")}
    assert engine.adapters == ["adapter", "adapter"]


def test_command_talks_to_a_server(monkeypatch, capsys) -> None:
    shorten_pauses(monkeypatch)
    monkeypatch.setattr(sys, "stdin", io.StringIO("Hello\nAnd now?\n"))

    def script(asked: Asked) -> Answer:
        return (
            completion(FRENCH) if len(asked.body["messages"]) < 4 else completion("", "guardrail")
        )

    with FaultyServer(script) as server:
        words = ["chat", f"--server={server.url}", "--entry=language.fr"]
        assert main(words) == 2
        assert "--model" in capsys.readouterr().err
        words += ["--model=base-1", "--adapter=lora-7", "--server-setting=omit=[top_p, seed]"]
        assert main([*words, "--chat-template-kwargs=enable_thinking=false"]) == 0
    out = capsys.readouterr().out
    assert "✓ | Bonjour" in out
    assert "! the server ended the reply with 'guardrail'" in out
    body = server.asked[0].body
    assert body["model"] == "lora-7"
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert {"top_p", "seed"}.isdisjoint(body)
    assert main(["chat", "--server-setting=omit=[seed]"]) == 2


def test_command_takes_the_adapters_own_model_and_a_users_catalogue(
    piped, capsys, tmp_path
) -> None:
    asked = piped("Hello\n", Recorder("Ahoy, yodelling it is."))
    write_catalog(tmp_path, "yodelling")
    words = ["chat", "--entry=hobby.yodelling", f"--catalog={tmp_path}", f"--adapter={tmp_path}"]
    assert main(words) == 2
    assert "no adapter_config.json" in capsys.readouterr().err
    settings = tmp_path / "adapter_config.json"
    saved = {"peft_type": "LORA", "base_model_name_or_path": "their/model"}
    settings.write_text(json.dumps(saved), encoding="utf-8")
    assert main(words) == 0
    assert asked[0].model == "their/model"
    assert "✓ | Ahoy" in capsys.readouterr().out
