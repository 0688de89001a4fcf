from __future__ import annotations

import json
from pathlib import Path

import pytest

from gatt.errors import ConfigError
from gatt.sources import chitchat
from gatt.sources.chitchat import problem_of
from gatt.sources.config import SourceConfig
from gatt.sources.load import load_dialogues

CONFIG = SourceConfig(min_turns=2, max_turns=10)
CLEAN = [
    "Hi, how are you doing today?",
    "I am good, just a little tired.",
    "Did you get to sleep at all?",
    "Yeah, but my cat woke me up.",
]


def chat(*texts: str, senders: int = 2) -> dict[str, object]:
    return {"messages": [[{"sender": str(i % senders), "text": t}] for i, t in enumerate(texts)]}


def test_merges_runs_and_makes_the_first_speaker_the_user() -> None:
    message = [("b", "Hey&amp;  you :tongue_out:"), ("b", "What's up?"), ("a", "<em>Not</em> much")]
    raw = {"messages": [[{"sender": s, "text": t}] for s, t in message]}
    assert chitchat.merge(raw) == [("b", "Hey& you\nWhat's up?"), ("a", "Not much")]


def test_reads_and_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = {
        "ok": chat(*CLEAN),
        "lone": chat(*CLEAN, senders=1),
        "three": chat(*CLEAN, senders=3),
        "mail": chat(*CLEAN[:3], "Write me at jo.doe@mail.example, I will be there."),
        "rude": chat(*CLEAN[:3], "I do not give a shit about it."),
    }
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps(raw), encoding="utf-8")
    monkeypatch.setattr(chitchat, "dataset_path", lambda: path)
    dialogues, report = load_dialogues(CONFIG, None)
    assert [d.id for d in dialogues] == ["chitchat-ok"]
    assert [m.content for m in dialogues[0].messages] == CLEAN
    assert dialogues[0].messages[0].role == "user"
    assert report.dropped == {"not two speakers": 2, "personal data": 1, "blocked word": 1}
    assert report.num_read == 5


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("You can call me, it is 801-555-0123.", "personal data"),
        ("I am @some_body there", "personal data"),
        ("Well my name is Jane Doe", "personal data"),
        ("He wants to kill   yourself I think", "blocked word"),
        ("That is so FUCKING good", "blocked word"),
        ("No hablo nada bien ingles pero quiero aprender mucho contigo", "not English"),
        ("word " * 121, "message too long"),
    ],
)
def test_screen_drops(message: str, reason: str) -> None:
    assert problem_of([*CLEAN, message]) == reason


@pytest.mark.parametrize(
    "message",
    [
        "My name is Luke and my sister's name is Leia",
        "I am in class, and the glass is in Essex.",
        "My number one thing is pie, so that is your number one too?",
    ],
)
def test_screen_keeps(message: str) -> None:
    assert problem_of([*CLEAN, message]) is None


def test_screen_drops_one_word_chats_and_foreign_script() -> None:
    assert problem_of(["Hi", "Hey", "Yes", "What do you mean?"]) == "mostly one-word messages"
    assert problem_of(["как дела у тебя", "хорошо, а у тебя"]) == "not English"
    assert problem_of(["12 34", "56 78"]) == "not English"


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chitchat, "PACKAGE", "no_such_package_here")
    with pytest.raises(ConfigError, match=r"^source 'chitchat': .* pip install chitchat-dataset"):
        load_dialogues(CONFIG, None)
