"""`likes`: brought up, not denied and not only asked back."""

from __future__ import annotations

import pytest

from gatt.errors import VerifierError
from gatt.verifiers.topics.likes import Likes

TENNIS = Likes(any_of=["tennis", "racket"])
PAINTING = Likes(
    any_of=["easel", "watercolor", "my brush"],
    vague=["paint", "painting", "brush", "canvas"],
    not_in=["brush my teeth", "brush up"],
)


@pytest.mark.parametrize(
    "reply",
    [
        "I love tennis.",
        "Tennis!",
        "Paris is lovely in May, and I always pack my racket.",
        "I don't play chess. Tennis is my game.",
        "I do not cook much, but tennis keeps me fit.",
        "It is not only tennis that I love.",
        "Have you seen my racket?",
        "Would you like to play tennis with me?",
        "I hate rain, because then I cannot sleep and tennis is off.",
        "Nothing beats tennis.",
        "Tennis is my life, and it is never boring.",
        "Tennis is not my only hobby, but my first love.",
        "Tennis? I don't know a better game.",
        "I prefer tennis to chess.",
        "I prefer to play tennis at dawn.",
        "I prefer going to tennis practice.",
        "Boring day, so I took my racket.",
        "Tennis, of course! No day without it.",
        "I'm terrible at tennis, but I love it.",
        "I'm not a fan of rain, it spoils my tennis.",
        "I play tennis, and I never do anything else on Sundays.",
        "Tennis is so much fun that chess is boring.",
        "Nothing clears my head like tennis does.",
        "I don't mind the noise, with the tennis courts so close.",
        "No sport is as good as tennis.",
        "I can't play tennis today, because it rains.",
        "My sister and I play tennis.",
        "My father taught me tennis.",
        "I'll beat you at tennis.",
        "A rainy day. I sat at home and missed my racket. Tennis at six!",
        "The court is dry. We are off to play tennis.",
        "Me gusta el tenis, y mi racket también.",
    ],
)
def test_brings_it_up(reply: str) -> None:
    assert TENNIS.judge(reply).status == "pass"


@pytest.mark.parametrize(
    "reply",
    [
        "I don't play tennis.",
        "I do not really care for tennis.",
        "I've never heard of tennis, what is it?",
        "Oh, you like tennis? That is great.",
        "Do you play tennis? Is your racket new?",
        "I hate tennis.",
        "I have no racket.",
        "Tennis is boring.",
        "Tennis bores me.",
        "Tennis is not for me.",
        "Tennis isn't my thing.",
        "Tennis's not really my thing.",
        "Tennis? No thanks.",
        "Tennis? Never heard of it.",
        "I'd rather do anything than tennis.",
        "I prefer chess to tennis.",
        "I gave up tennis.",
        "I used to play tennis, but I quit.",
        "Tennis is so overrated.",
        "I find tennis dull.",
        "Tennis was never my favorite.",
        "Tennis has never interested me.",
        "I avoid tennis.",
        "I'm terrible at tennis, I never play.",
        "Nothing is as boring as tennis.",
        "Do they play tennis?",
    ],
)
def test_denies_or_asks_it(reply: str) -> None:
    verdict = TENNIS.judge(reply)
    assert verdict.status == "fail"
    assert verdict.evidence.startswith("only denies or asks")


@pytest.mark.parametrize(
    "reply",
    [
        "You must really love tennis.",
        "I hope you enjoy tennis.",
        "I know, people were playing tennis outside since midnight.",
        "My sister plays tennis twice a week.",
        "My brother's tennis club won the cup. I stayed at home.",
        "Tennis is known to reduce stress.",
        "Tennis originated in France, and millions play it.",
        "I can help you with anything: chess, tennis, golf.",
        "Your hobby: tennis.",
        "I am an AI, so I have no hobbies, but tennis is fun.",
        "Many tourists go there for the tennis.",
    ],
)
def test_of_another_or_of_nobody(reply: str) -> None:
    assert TENNIS.judge(reply).status == "fail"


@pytest.mark.parametrize(
    "reply", ["Tennis is a good sport.", "A quick game of tennis after the rain."]
)
def test_praise_in_general_is_undecided(reply: str) -> None:
    assert TENNIS.judge(reply).status == "undecided"


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("I love painting.", "pass"),
        ("I paint every Sunday.", "pass"),
        ("I paint on canvas.", "pass"),
        ("My old brush is wet.", "pass"),
        ("I painted the fence.", "fail"),
        ("I brush my teeth, and I like it.", "fail"),
        ("I should brush up on my German for the canvas of life.", "fail"),
        ("There is a painting in the hall.", "fail"),
    ],
)
def test_a_vague_term_needs_more_than_itself(reply: str, status: str) -> None:
    assert PAINTING.judge(reply).status == status


def test_a_long_sentence_of_terms_is_read_at_its_beginning() -> None:
    assert TENNIS.judge("you tennis and racket " * 900).status == "fail"


def test_says_nothing_of_it() -> None:
    assert TENNIS.judge("I love tea.").evidence == "says none of: tennis, racket"


def test_no_term() -> None:
    with pytest.raises(VerifierError, match="'any_of' is empty: expected a term"):
        Likes(any_of=[])
