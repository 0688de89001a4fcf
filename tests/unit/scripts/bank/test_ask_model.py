"""`scripts/research/bank/ask_model.py`: what it asks, what it keeps, and how it counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from bank.ask_model import NUM_REQUESTS, ask, counted, prompts

from gatt.data.bank.read import Bank, Question, SmallTalk, Told
from gatt.generation.base import GenerationRequest, SamplingParams
from gatt.runs.store import RecordStore
from tests.support.runs.stages import RecordingEngine


def question(number: int, kind: str = "numbers") -> Question:
    return Question(f"{kind}.{number}", kind, f"Say {number}?", (str(number),), (), f"{number}.")


DOG = Told("told.dog", "My dog is Rex.", "A good name.", "Who is my dog?", ("Rex",), (), "Rex.")
CAT = Told("told.cat", "My cat is Mia.", "How nice.", "Who is my cat?", ("Mia",), (), "Mia.")
WEATHER = SmallTalk("small_talk.rain", "small_talk", "It rains.", "Take an umbrella.")
BANK = Bank((question(1), question(2), question(3, "time")), (DOG, CAT), (WEATHER,), ())
SAID = {"Say 1?": "It is 1.", "Say 2?": "It is 7.", "Say 3?": "3", "Who is my dog?": "It is Rex."}


def replied(request: GenerationRequest) -> str:
    return SAID.get(request.messages[-1].content, "I do not know.")


def store(folder: Path) -> RecordStore:
    return RecordStore(folder / "asked.jsonl", fingerprint="x", kind="asked")


def test_a_told_fact_is_asked_for_two_turns_later() -> None:
    asked = prompts(BANK)
    assert [(p.id, p.kind, len(p.messages)) for p in asked] == [
        ("numbers.1", "numbers", 1), ("numbers.2", "numbers", 1), ("time.3", "time", 1),
        ("told.dog", "told", 5), ("told.cat", "told", 5),
    ]  # fmt: skip
    assert [(m.role, m.content) for m in asked[3].messages] == [
        ("user", "My dog is Rex."), ("assistant", "A good name."), ("user", "It rains."),
        ("assistant", "Take an umbrella."), ("user", "Who is my dog?"),
    ]  # fmt: skip


def test_right_replies_are_counted_by_kind_and_wrong_ones_shown(tmp_path: Path) -> None:
    asked = prompts(BANK)
    with store(tmp_path) as rows:
        ask(asked, rows, RecordingEngine(replied), SamplingParams())
        lines = counted(asked, {row["messages"]: row["reply"] for row in rows})
    wrong = [line for line in lines if line.startswith("- ")]
    assert [line.split(":")[0] for line in wrong] == ["- numbers.2", "- told.cat"]
    assert "'It is 7.'" in wrong[0]
    # Wilson's interval of 1 of 2 is 9 to 91, of 2 of 3 it is 21 to 94, of 1 of 1 it is 21 to 100.
    assert lines[len(wrong) :] == [
        "numbers: 1 of 2 [9, 91] %", "time: 1 of 1 [21, 100] %", "questions: 2 of 3 [21, 94] %",
        "told: 1 of 2 [9, 91] %",
    ]  # fmt: skip


def test_no_told_fact_has_no_share() -> None:
    (asked, *_) = prompts(BANK)
    assert counted([asked], {asked.key: "1"})[-1] == "told: 0 of 0 [0, 100] %"


def test_an_interrupted_call_keeps_whole_portions(tmp_path: Path) -> None:
    asked = prompts(Bank(tuple(map(question, range(NUM_REQUESTS + 1))), (), (WEATHER,), ()))
    interrupted = RecordingEngine(replied, interrupt_at=2)
    with store(tmp_path) as rows, pytest.raises(KeyboardInterrupt):
        ask(asked, rows, interrupted, SamplingParams())
    with store(tmp_path) as rows:
        known = rows.keys("messages")
        assert [p.id for p in asked if p.key not in known] == [f"numbers.{NUM_REQUESTS}"]
