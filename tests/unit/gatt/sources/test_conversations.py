"""Conversations of the bank, and those of an FAQ."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from gatt.data.answers import answers
from gatt.data.dialogue import Dialogue
from gatt.data.hash_split import SplitName, partition
from gatt.errors import ConfigError, DataError
from gatt.sources.config import SourceConfig
from gatt.sources.conversations import TOLD_TURNS
from gatt.sources.faq import read_faq
from gatt.sources.load import load_dialogues


def load(part: SplitName | None = "eval", **settings) -> list[Dialogue]:
    given = {"name": "conversations", "min_turns": 16, "max_turns": 16, "num": 8} | settings
    return load_dialogues(SourceConfig(**given), part)[0]


def test_half_of_the_turns_ask_and_the_plain_replies_answer() -> None:
    made = load()
    assert {d.num_turns for d in made} == {16}
    assert {partition(d.id) for d in made} == {"eval"}
    kinds = set()
    for dialogue in made:
        assert len(set(dialogue.user_turns)) == 16
        assert sum(one is not None for one in dialogue.expectations) == 8
        for turn, expect in enumerate(dialogue.expectations):
            if expect is None:
                continue
            kinds.add(expect.kind)
            verdict = answers(expect, dialogue.replies[turn], dialogue.user_turns[turn])
            assert verdict.status == "pass", (dialogue.user_turns[turn], dialogue.replies[turn])
    assert kinds == {"question", "told"}
    assert load() == made
    assert load(num=3) == made[:3]
    assert load(seed=1) != made


def test_a_fact_is_told_before_it_is_asked_for() -> None:
    distances = []
    for dialogue in load(num=30):
        for turn, expect in enumerate(dialogue.expectations):
            if expect is not None and expect.kind == "told":
                told = [
                    earlier
                    for earlier, text in enumerate(dialogue.user_turns[:turn])
                    if answers(replace(expect, kind="own"), text, "").status == "pass"
                    and earlier >= turn - TOLD_TURNS[1]
                ]
                distances.append(turn - min(told))
    assert min(distances) >= TOLD_TURNS[0]


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({"asked": "every", "min_turns": 4, "max_turns": 4}, {1, 2, 3, 4}),
        ({"asked": (2, 9, 40)}, {2, 9}),
    ],
)
def test_the_asked_turns_may_be_given(settings: dict, asked: set[int]) -> None:
    for dialogue in load(**settings):
        found = {turn for turn, one in enumerate(dialogue.expectations, 1) if one is not None}
        assert found == asked


def test_small_talk_of_people_stands_in_its_order() -> None:
    pytest.importorskip("chitchat_dataset")
    ours = {text for dialogue in load(num=40) for text in dialogue.user_turns}
    for dialogue in load(small_talk="people", num=2):
        free = [
            t
            for t, one in zip(dialogue.user_turns, dialogue.expectations, strict=True)
            if one is None
        ]
        # Tellings are written.
        assert len(set(free) - ours) >= len(free) - 3


def test_parts_share_no_question() -> None:
    asked = {
        part: {text for d in load(part, num=20) for text in d.user_turns}
        for part in ("train", "eval")
    }
    assert not asked["train"] & asked["eval"]


def test_more_turns_than_the_bank_has() -> None:
    with pytest.raises(ConfigError, match="asked"):
        load("validation", min_turns=900, max_turns=900, num=1)


CSV = """question,must_contain,must_not_contain,answer
How long can I return boots?,30 days|thirty days,14 days,"For 30 days, unworn."
Do you ship to Norway?,yes,,
"""
JSONL = (
    '{"question": "How long can I return boots?", "must_contain": ["30 days", "thirty days"], '
    '"must_not_contain": "14 days", "answer": "For 30 days, unworn."}\n'
    '{"question": "Do you ship to Norway?", "must_contain": "yes"}\n'
)


@pytest.mark.parametrize(("name", "text"), [("faq.csv", "\ufeff" + CSV), ("faq.jsonl", JSONL)])
def test_an_faq_between_small_talk(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    first, second = read_faq(path)
    assert (first.expect.any_of, first.expect.none_of) == (("30 days", "thirty days"), ("14 days",))
    assert (first.reply, second.reply) == ("For 30 days, unworn.", "yes")
    for dialogue in load(name="faq", path=str(path), min_turns=4, max_turns=4):
        assert {e.kind for e in dialogue.expectations if e} == {"own"}
        assert {first.say, second.say} < set(dialogue.user_turns)


def test_no_question_of_an_faq_is_asked_again_before_the_others(tmp_path: Path) -> None:
    path = tmp_path / "faq.csv"
    questions = [f"Where is hall {n}?" for n in range(20)]
    path.write_text("question,must_contain\n" + "".join(f"{q},left\n" for q in questions), "utf-8")
    made = load(name="faq", path=str(path), min_turns=6, max_turns=6, num=20)
    for num in (5, 13, 20):
        asked = Counter(text for d in made[:num] for text in d.user_turns if text in questions)
        assert asked.total() == 3 * num
        assert max(asked.values()) - min(asked[q] for q in questions) <= 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("question,must_contain\nHow?,\n", "line 2"),
        ("question,must_contain\nHow?,a\n,b\n", "line 3"),
        ("question,must_contian\nHow?,a\n", "must_contain"),
        ("question,must_contain\nHow?,a,b\n", "line 2"),
        ("question,must_contain\n", "no question"),
    ],
)
def test_a_broken_faq(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "faq.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_faq(tmp_path / "faq.csv")
