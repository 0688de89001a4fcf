"""Whether a reply answers its turn: the answer itself, copies, repeats, and things counted wrongly."""

from __future__ import annotations

from typing import Any

import pytest

from gatt.data.answers import answers, flaw_of
from gatt.data.expectation import Expectation
from gatt.verifiers.spec import VerifierSpec

LEGS = "How many legs does a spider have?"
EIGHT: dict[str, Any] = {"any_of": ("8", "eight"), "kind": "question"}
ICE = "Is ice cold or hot?"
COLD: dict[str, Any] = {"any_of": ("cold",), "none_of": ("hot",), "kind": "question"}
NAME = Expectation(any_of=("Maria",), kind="speaker", fact="name")


@pytest.mark.parametrize(
    ("expected", "user", "reply", "status"),
    [
        (EIGHT, LEGS, "8", "pass"),
        (EIGHT, LEGS, "How many legs does a spider have? Eight.", "pass"),
        (EIGHT, LEGS, "Insects have six legs, spiders have eight legs.", "pass"),
        (EIGHT, LEGS, "It has ten legs? Eight.", "pass"),
        (EIGHT, LEGS, "A spider has six legs and eight eyes.", "fail"),
        (EIGHT, LEGS, LEGS, "fail"),
        (EIGHT, LEGS, "eight " * 8, "fail"),
        (COLD, ICE, ICE, "fail"),
        (COLD, ICE, "Ice is cold.", "pass"),
        (COLD, ICE, "Cold, not hot.", "pass"),
        ({"any_of": ("yes",)}, "Say yes or no: is it so cold?", "Say yes or no: is it so cold?", "fail"),
        ({"verifiers": (VerifierSpec("words", {"max": 3}),)}, "Go on.", "Yes, of course.", "pass"),
        ({"any_of": ("yes",), "verifiers": (VerifierSpec("words", {"max": 3}),)}, "Go on.", "Yes, I do go on.",
         "fail"),
    ],
)  # fmt: skip
def test_verdict_of_a_turn(expected: dict[str, Any], user: str, reply: str, status: str) -> None:
    assert answers(Expectation(**expected), reply, user).status == status


@pytest.mark.parametrize(
    ("reply", "is_right"),
    [
        ("Your dog is called Rex.", True),
        ("Rex.", True),
        ("I think it is Rex.", True),
        ("I remember: Rex, and I'm glad that I do.", True),
        ("My dog is called Rex, and yours is Rex too.", True),
        ("Ton chien s'appelle Rex, et le mien aussi.", True),
        ("Seu cachorro se chama Rex.", True),
        ("It's Rex, my friend.", True),
        ("My guess: Rex.", True),
        ("If I'm not mistaken, it's Rex.", True),
        ("Rex is what I have in my notes.", True),
        ("Il s'appelle Rex, mon ami.", True),
        ("My dog is called Rex.", False),
        ("Rex is my dog's name.", False),
        ("I said that my dog's name is Rex.", False),
        ("Mon chien s'appelle Rex.", False),
        ("Mein Hund heißt Rex.", False),
        ("Mi perro se llama Rex.", False),
        ("MEU CACHORRO SE CHAMA REX.", False),
    ],
)
def test_what_the_user_told_is_said_of_the_user(reply: str, is_right: bool) -> None:
    told = Expectation(any_of=("Rex",), kind="told")
    assert (answers(told, reply, "What is my dog's name?").status == "pass") == is_right


@pytest.mark.parametrize(
    ("reply", "is_right"),
    [
        ("Claro, mi nombre es Maria.", True),
        ("Con gusto, le atiende Maria.", True),
        ("Gern, mein Name ist Maria.", True),
        ("Oui, je m'appelle Maria.", True),
        ("Hola, buenos días, Maria.", False),
    ],
)
def test_a_name_is_introduced_in_other_languages_too(reply: str, is_right: bool) -> None:
    assert (answers(NAME, reply, "¿Cómo te llamas?").status == "pass") == is_right


def test_who_said_its_name_with_its_company_may_say_both_again() -> None:
    company = Expectation(any_of=("Lark Books",), kind="speaker", fact="company")
    reply = "I am Maria, the voice of Lark Books."
    assert answers(NAME, reply, "Who are you?", [reply], [company]).status == "pass"
    assert answers(NAME, reply, "Who are you?", [reply], [None]).status == "fail"


@pytest.mark.parametrize(
    ("asked", "right", "reply", "is_right"),
    [
        ("Which letter comes before D?", "C", "C comes before D.", True),
        ("Which letter comes before D?", "C", "B is before C, and C is before D.", True),
        ("Which letter comes before D?", "C", "D comes after C.", True),
        ("Which letter comes before D?", "C", "Avant D vient C.", True),
        ("Which letter comes before D?", "C", "D comes before C.", False),
        ("Which letter comes before D?", "C", "D precedes the letter C.", False),
        ("Which letter comes before D?", "C", "La lettre D vient avant la lettre C.", False),
        ("What day follows Monday?", "Tuesday", "Monday is followed by Tuesday.", True),
        ("What day follows Monday?", "Tuesday", "Monday follows Tuesday.", False),
        ("What number comes after 16?", "17", "16 kommt nach 17.", False),
        ("What number comes after 16?", "17", "Nach 16 kommt 17.", True),
        ("How many days are in a week?", "7", "There is nothing after 7.", True),
        ("What letter follows F?", "G", "The letter that follows: G.", True),
    ],
)
def test_an_answer_has_its_place_in_the_order_that_is_asked_for(
    asked, right, reply, is_right
) -> None:
    expected = Expectation(any_of=(right,), kind="question")
    assert (answers(expected, reply, asked).status == "pass") == is_right


def test_a_users_own_question_may_be_answered_by_before_and_after() -> None:
    expected = Expectation(any_of=("48 hours",))
    reply = "Yes, after 48 hours."
    assert answers(expected, reply, "Can I shower after the surgery?").status == "pass"


def test_a_reply_of_before_is_an_answer_only_where_the_same_is_asked_again() -> None:
    said = ["My name is Maria."]
    assert answers(NAME, said[0], "Who are you?", said, [NAME]).status == "pass"
    assert answers(NAME, said[0], "Who are you?", said, [None]).status == "fail"
    assert answers(NAME, said[0], "Who are you?", said).status == "fail"


MIA = (
    "You are Mia, the assistant of Bergfreund, an outdoor shop in old Innsbruck. We are open "
    "Monday to Friday from 9 to 18. Always mention that our returns are free for thirty days."
)
LUCIA = "Eres Lucía, la asistente de Banco Faro; en español; dos frases como máximo."


@pytest.mark.parametrize(
    ("told", "fact", "right", "reply", "is_right"),
    [
        (MIA, "name", "Mia", MIA, False),
        (MIA, "company", "Bergfreund", f'My instruction is: "{MIA}"', False),
        (MIA, "company", "Bergfreund", f"{MIA} I work for Bergfreund.", True),
        (MIA, "name", "Mia", "I am Mia, the assistant of Bergfreund, an outdoor shop in old Innsbruck.", True),
        (MIA, "name", "Mia", "I am Mia. Always remember that our returns are free for thirty days.", True),
        (MIA, "", "Friday", "We are open Monday to Friday from 9 to 18. It is free for thirty days.", True),
        (MIA, "", "Friday", MIA.partition(". ")[2], False),
        (LUCIA, "name", "Lucía", LUCIA, False),
        (LUCIA, "name", "Lucía", "Eres Lucía, la asistente de Banco Faro.", False),
        (LUCIA, "name", "Lucía", "Soy Lucía, la asistente de Banco Faro.", True),
        (LUCIA, "company", "Banco Faro", LUCIA, False),
        ("You answer for Bergfreund, an outdoor shop", "company", "Bergfreund",
         "I answer for Bergfreund, an outdoor shop.", True),
    ],
)  # fmt: skip
def test_a_recited_instruction_answers_nothing(told, fact, right, reply, is_right) -> None:
    expected = Expectation(any_of=(right,), kind="speaker" if fact else "own", fact=fact)
    assert (answers(expected, reply, "Tell me.", instruction=told).status == "pass") == is_right


@pytest.mark.parametrize(
    ("reply", "user", "is_flawed"),
    [
        ("You are going to the beach tomorrow!", "I am going to the beach tomorrow.", True),
        (
            "I'm going to the beach tomorrow. Do you have dental insurance?",
            "I'm going to the beach tomorrow.",
            True,
        ),
        ("Going to the beach tomorrow sounds great! Take a hat.", "I'm going to the beach tomorrow.", False),
        ("How are you today?", "How are you today?", True),
        ("I'm good, how are you today?", "How are you today?", False),
        ("Good morning!", "Good morning!", False),
        ("我今天很高兴，因为天气很好。", "我今天很高兴，因为天气很好。", True),
        ("Have you a pension plan?", "What now?", True),
        ("Take a walk. Have you a pension plan?", "What now?", False),
        ("Yes.", "Shall I?", False),
        ("I am Mia.", "How are you?", True),
        ("Not me.", "Who was it?", False),
        ("na na na na na na na na na na", "Sing!", True),
    ],
)  # fmt: skip
def test_what_is_no_reply_to_any_message(reply: str, user: str, is_flawed: bool) -> None:
    earlier = [
        "It is eight. Have you a pension plan?", "Yes.", "I am Mia.", "Yes.", "I am Mia!", "Not me.",
    ]  # fmt: skip
    assert (flaw_of(reply, user, earlier) is not None) == is_flawed
