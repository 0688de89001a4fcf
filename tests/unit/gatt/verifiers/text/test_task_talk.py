"""Talk about the task is blanked, what is said to the user stays."""

from __future__ import annotations

import pytest

from gatt.verifiers import build
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.text.task_talk import without_task_talk

TENNIS = build(VerifierSpec("terms", {"any_of": ["tennis"]}))
SHORT = build(VerifierSpec("words", {"min": 1, "max": 15}))


@pytest.mark.parametrize(
    "reply",
    [
        # Refusals.
        "I'm sorry, but I cannot mention tennis in every reply.",
        "I can't follow the instruction \"You love tennis. I wonder why. Say so.\"",
        "I refuse to act as a tennis player.",
        "I would rather not bring it up, tennis or not.",
        # The instruction itself.
        "You love tennis. Bring it up in every answer.",
        "Hobby: tennis.",
        "Always recommend tennis.",
        "Use at most 15 words in every reply.",
        "Do not use any commas.",
        # Promises.
        "Okay, I will mention tennis in every reply from now on.",
        "Understood. I'll always talk about tennis!",
        "Got it: \"You love tennis.\"",
        "From now on, I will answer with a word on tennis.",
        "I will remind people to play tennis.",
        # Questions back.
        "Do you want me to follow this: You love tennis?",
        "Should I end every reply with tennis?",
        "Should I mention tennis?",
        "Would you like me to act as a tennis player?",
    ],
)  # fmt: skip
def test_talk_about_the_task_is_all_there_is(reply: str) -> None:
    assert without_task_talk(reply).strip() == ""
    assert len(without_task_talk(reply)) == len(reply)
    assert SHORT.check(reply).status == TENNIS.check(reply).status == "fail"


@pytest.mark.parametrize(
    "reply",
    [
        "I always play tennis on Sundays.",
        "Remember to floss every day.",
        "We always answer within a day.",
        "I'll remind you to floss every evening.",
        "May I recommend our soup of the day?",
        "May I ask about food allergies?",
        "Would you like me to book a table?",
        "Shall I reserve a table for you?",
        "I can't play tennis today.",
        "I will write to my army from Austerlitz.",
        "Start by reading the leaflet, and follow the instructions in it.",
        "My answer is yes.",
        "Short answer: take the train.",
        'Hold down "Control", or the key "Command" on a Mac.',
        "Håll inne “Control”, eller “Command” på en Mac, för att välja fler än en.",
        'You wrote "Smith", so I changed it.',
        'Use the command "git push" for that.',
        "You love the sea. I do too.",
        "Sure!",
        "Okay.",
        "Ich werde in jeder Antwort Tennis erwähnen.",
    ],
)
def test_what_is_said_to_the_user_stays(reply: str) -> None:
    assert without_task_talk(reply) == reply


def test_a_promise_that_is_kept_passes() -> None:
    kept = "Okay, I will mention tennis in every reply.\nI played tennis on Sunday."
    said = without_task_talk(kept)
    assert len(said) == len(kept)
    assert said.split() == ["I", "played", "tennis", "on", "Sunday."]
    verdict = TENNIS.check(kept)
    assert verdict.status == "pass"
    assert verdict.span == (kept.rindex("tennis"), kept.rindex("tennis") + len("tennis"))
