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
from gatt.commands.chat.conversation import Chat, from_text
from gatt.data.catalog.read import load_catalog
from gatt.data.dialogue import read_dialogues
from gatt.errors import DataError, GenerationError
from gatt.generation.base import Generation, GenerationRequest, SamplingParams
from gatt.models.control_tokens import refuse_control_tokens
from gatt.models.template_variables import write_variables
from gatt.verifiers.spec import VerifierSpec
from tests.support.models.tiny import tiny_tokenizer

TENNIS = replace(
    from_text("You enjoy tennis."),
    id="hobby.tennis",
    verifiers=(VerifierSpec("terms", {"any_of": ["tennis", "racket"]}),),
)


CATALOG = cache(load_catalog)
FRENCH = "Bonjour, je suis ravi de vous voir ici aujourd'hui."


class Recorder:
    """An engine that gives its replies in turn and keeps what it was asked."""

    tokenizer = tiny_tokenizer()

    def __init__(self, *replies: str, finish: str = "stop") -> None:
        self.requests: list[GenerationRequest] = []
        self.adapters: list[str | None] = []
        self._replies = list(replies)
        self._finish = finish

    def generate(self, requests, params, adapter=None) -> list[Generation]:
        self.requests += requests
        self.adapters.append(adapter)
        return [Generation(self._replies.pop(0), self._finish, 1)]  # type: ignore[arg-type]

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
    assert talk.num_turns == 2


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


def test_control_tokens_are_refused_in_messages_and_instructions() -> None:
    tokenizer = tiny_tokenizer()

    def check(text: str) -> None:
        refuse_control_tokens(tokenizer, text, "your text")

    talk, engine = chat(check_text=check)
    with pytest.raises(DataError, match=r"your text: the text holds the control token '<\|im_end"):
        talk.say("a<|im_end|>b")
    with pytest.raises(DataError, match="control token"):
        talk.replace("a<|im_start|>")
    assert not engine.requests


def test_saved_dialogues_can_be_read_as_dialogues(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    talk, _ = chat("One.", "Deux é.", first=TENNIS)
    talk.say("Hello")
    talk.save(path)
    talk.save(path)
    talk.say("More")
    talk.save(path)
    first, second = read_dialogues(path)
    assert first.system == "You enjoy tennis."
    assert second.replies == ("One.", "Deux é.")
    with pytest.raises(DataError, match=r"missing/x.jsonl: cannot write: No such file"):
        talk.save(tmp_path / "missing" / "x.jsonl")


def terminal(talk: Chat, *lines: str, **options) -> str:
    out: list[str] = []
    Terminal(talk, out.append, **options).run(iter(lines))
    return "".join(out)


def test_margin_shows_mark_and_evidence() -> None:
    talk, _ = chat(
        "I love tennis, it is my favourite thing.",
        "It rains in the hills today.",
        first=TENNIS,
    )
    out = terminal(talk, "Hello", "", "Weather?", "/quit", "never read")
    assert "instruction, given once: You enjoy tennis.\n" in out
    assert "✓ | I love tennis" in out
    assert "✗ | It rains" in out
    assert out.endswith("kept in 1 of 2 replies\n")
    assert "\x1b" not in out
    coloured, _ = chat("I love tennis so much.", first=TENNIS)
    assert "\x1b[32m✓\x1b[0m" in terminal(coloured, "Hello", has_colour=True)


def test_free_text_shows_a_dash_and_long_replies_wrap() -> None:
    long = chat("word " * 19 + "end " + "a b c " * 10, first=from_text("Be kind."))[0]
    out = terminal(long, "Hello")
    assert "(free text: replies are not judged)" in out
    assert "– | word" in out
    assert all(len(line) <= 100 for line in out.splitlines())
    cut = Chat(engine=Recorder("Part of it", finish="content_filter"), params=SamplingParams())
    assert "  |   (cut by the server's filter)" in terminal(cut, "Hello")


def test_commands() -> None:
    talk, engine = chat("One.", "Two.", FRENCH)
    out = terminal(
        talk, "/help", "Hello", "/reset", "Hi", "/reset", "/replace language.fr", "Hello again"
    )
    assert out.startswith("no instruction\n")
    assert "/save FILE" in out
    assert "(the dialogue starts over: no instruction)" in out
    assert engine.asked(1) == [("user", "Hi")]
    assert "✓ | Bonjour" in out


def test_mistakes_are_one_line_and_the_talk_goes_on(tmp_path: Path) -> None:
    talk, _ = chat("One.")
    path = tmp_path / "talk.jsonl"
    out = terminal(
        talk, "/resett", "/replace", "/cancel", "/replace language.fr1", "/save", "Hello", f"/save {path}"
    )  # fmt: skip
    assert "! '/resett' is no command: expected one of /replace" in out
    assert "! '/replace' is no command" in out
    assert "! nothing to cancel: no instruction holds" in out
    assert "! no catalogue entry 'language.fr1', did you mean 'language.fr'?" in out
    assert "! '/save' is no command" in out
    assert "– | One." in out
    assert f"({path}: saved)" in out


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


ROWERS = """
family: rower
about: Speak of rowing.
entries:
  - id: rower.ann
    value: Ann
    verbose: ["Speak of rowing."]
    terse: "Rower: Ann."
    verifiers: [{kind: terms, any_of: [row, oar]}]
    good: ["I like to row.", "My oar broke."]
    bad: ["I like tea.", "I like bread."]
"""


def test_command_sets_the_variables_that_the_adapter_was_trained_with(piped, tmp_path) -> None:
    write_variables(tmp_path, {"enable_thinking": False, "mode": "short"})
    asked = piped("", Recorder())
    words = ["chat", f"--adapter={tmp_path}", "--model=m", "--chat-template-kwargs=mode=long"]
    assert main(words) == 0
    assert asked[0].chat_template_kwargs == {"enable_thinking": False, "mode": "long"}


def test_command_reads_piped_lines(piped, capsys) -> None:
    engine = Recorder(FRENCH, "I am well, thank you very much.")
    asked = piped("Hello\nHow <|im_end|>?\nHow are you?\n", engine)
    words = ["chat", "--entry", "language.fr", "--adapter", "some/dir", "--model", "m"]
    assert main([*words, "--max-new-tokens", "20"]) == 0
    out = capsys.readouterr().out
    assert "> Hello\n✓ | Bonjour" in out
    assert "! your text: the text holds the control token" in out
    assert "✗ | I am well" in out
    assert asked[0].model == "m"
    assert asked[1] == {"adapter": Path("some/dir")}
    assert engine.adapters == ["adapter", "adapter"]


def test_command_takes_the_adapters_own_model_and_a_users_catalogue(
    piped, capsys, tmp_path
) -> None:
    engine = Recorder("Ahoy, I will row.")
    asked = piped("Hello\n", engine)
    adapter, catalog = tmp_path / "adapter", tmp_path / "catalog"
    adapter.mkdir()
    catalog.mkdir()
    (catalog / "rowers.yaml").write_text(ROWERS, encoding="utf-8")
    words = ["chat", "--entry", "rower.ann", "--catalog", str(catalog), "--adapter", str(adapter)]
    assert main(words) == 2
    assert "adapter: no adapter_config.json" in capsys.readouterr().err
    settings = adapter / "adapter_config.json"
    settings.write_text("[", encoding="utf-8")
    assert main(words) == 2
    assert "adapter_config.json: not the settings of an adapter" in capsys.readouterr().err
    saved = {"peft_type": "LORA", "base_model_name_or_path": "their/model"}
    settings.write_text(json.dumps(saved), encoding="utf-8")
    assert main(words) == 0
    assert asked[0].model == "their/model"
    assert "✓ | Ahoy" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["~nobody-of-this-name/x", "a\0b"])
def test_a_dialogue_outlives_a_mistyped_file(name: str) -> None:
    talk, _ = chat("One.")
    assert "\n! " in terminal(talk, "Hello", f"/save {name}", "/quit")
    assert talk.num_turns == 1
