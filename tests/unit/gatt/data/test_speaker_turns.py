"""Questions about the speaker in the place of other questions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gatt.data.bank.read import load_bank
from gatt.data.dialogue import Dialogue, Message
from gatt.data.expectation import Expectation
from gatt.data.instruction import Instruction
from gatt.data.parts import Part
from gatt.data.speaker_turns import with_questions_between, with_speaker_turns

QUESTION = Expectation(any_of=("8",), kind="question")
TOLD = Expectation(any_of=("Rex",), kind="told")
EXPECTED = (None, QUESTION, TOLD, QUESTION, None, QUESTION, QUESTION)
DIALOGUE = Dialogue(
    "d",
    tuple(
        message
        for number, expect in enumerate(EXPECTED)
        for message in (Message("user", f"u{number}", expect), Message("assistant", f"a{number}"))
    ),
)
FACTS = {"name": ("Maria",), "home": ("Lisbon",), "shoe_size": ("38",)}
MARIA = Instruction("i", "You are Maria.", "verbose", ("e",), ("f",), "train", (), facts=FACTS)


def test_half_of_the_questions_ask_for_facts_in_turn() -> None:
    made = with_speaker_turns(DIALOGUE, MARIA, "s")
    asked = [one for one in made.expectations if one is not None and one.kind == "speaker"]
    assert sorted((one.fact, one.any_of) for one in asked) == [
        ("home", ("Lisbon",)),
        ("name", ("Maria",)),
    ]
    for turn, (before, after) in enumerate(
        zip(DIALOGUE.expectations, made.expectations, strict=True)
    ):
        is_same = (
            made.messages[2 * turn : 2 * turn + 2] == DIALOGUE.messages[2 * turn : 2 * turn + 2]
        )
        assert is_same == (before == after)
        assert is_same or before == QUESTION
    assert "Maria" not in "".join(made.replies)
    assert (
        made == with_speaker_turns(DIALOGUE, MARIA, "s") != with_speaker_turns(DIALOGUE, MARIA, "t")
    )


@pytest.mark.parametrize(
    ("share", "last_turn", "facts", "num"),
    [
        (1, None, FACTS, 4),
        (0, None, FACTS, 0),
        (0.01, None, FACTS, 1),
        (1, 2, FACTS, 1),
        (1, None, {}, 0),
    ],
)
def test_how_many_are_replaced(share: float, last_turn: int | None, facts: dict, num: int) -> None:
    made = with_speaker_turns(
        DIALOGUE, replace(MARIA, facts=facts), "s", share=share, last_turn=last_turn
    )
    assert sum(one is not None and one.kind == "speaker" for one in made.expectations) == num


def test_training_and_evaluation_share_no_wording() -> None:
    made = {
        part: {
            text
            for seed in range(40)
            for text in with_speaker_turns(DIALOGUE, MARIA, str(seed), part, 1).user_turns
        }
        for part in ("train", "eval")
    }
    assert made["train"] & made["eval"] <= set(DIALOGUE.user_turns)


def test_between_a_users_own_messages_the_name_is_asked_for_most() -> None:
    own = Dialogue("d", tuple(replace(m, expect=None) for m in DIALOGUE.messages))
    facts = [
        expect.fact
        for seed in range(60)
        for expect in with_questions_between(own, MARIA, str(seed)).expectations
        if expect is not None
    ]
    assert len(facts) == 60
    assert 36 <= facts.count("name") <= 54
    assert facts.count("home") == 60 - facts.count("name")


@pytest.mark.parametrize(
    ("user", "language"),
    [
        ("Mein Paket ist seit gestern nicht da, und ich brauche es bald.", "de"),
        ("Quiero abrir una cuenta, pero no sé qué papeles hacen falta.", "es"),
        ("Je voudrais changer mon rendez-vous de jeudi, est-ce possible ?", "fr"),
        ("My parcel has been late since yesterday, and I need it soon.", "en"),
        ("Il mio pacco non è arrivato ieri e ne ho bisogno presto.", "en"),  # not in the bank
    ],
)
def test_between_a_users_own_messages_questions_are_in_their_language(user, language) -> None:
    own = Dialogue("d", tuple(replace(m, expect=None, content=user) for m in DIALOGUE.messages))
    languages = {question.ask: question.language for question in load_bank().speaker}
    asked = [
        text
        for seed in range(10)
        for text in with_questions_between(own, MARIA, str(seed), "eval").user_turns
        if text != user
    ]
    assert len(asked) >= 10
    assert {languages[text] for text in asked} == {language}


def test_in_training_at_most_one_message_asks_for_what_is_forbidden_and_not_in_each_dialogue() -> (
    None
):
    own = Dialogue("d", tuple(replace(m, expect=None) for m in DIALOGUE.messages))
    parts = tuple(
        Part(about=about, asks=tuple(f"{about}, please? ({n})" for n in range(6)))
        for about in ("never promise a refund", "never talk about rivals")
    )
    silent = replace(MARIA, facts={}, parts=parts)

    def asked(instruction: Instruction, share: float | None, kind: str) -> list[list[str]]:
        made = [
            with_questions_between(own, instruction, str(seed), "train", topic_share=share)
            for seed in range(60)
        ]
        return [[e.fact for e in one.expectations if e and e.kind == kind] for one in made]

    topics = asked(silent, 0.5, "topic")
    assert {len(one) for one in topics} == {0, 1}
    assert 20 <= sum(map(len, topics)) <= 40
    assert {fact for one in topics for fact in one} == {part.about for part in parts}
    # Questions about the speaker stay in each dialogue, and an evaluation asks for each part.
    assert {len(one) for one in asked(replace(silent, facts=FACTS), 0.5, "speaker")} == {1}
    assert {frozenset(one) for one in asked(silent, None, "topic")} == {
        frozenset(part.about for part in parts)
    }
