"""`likes`: brought up, not denied and not only asked back."""

from __future__ import annotations

import pytest

from gatt.errors import VerifierError
from gatt.verifiers.likes import Likes

TENNIS = Likes(any_of=["tennis", "racket"])


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
    ],
)
def test_denies_or_asks_it(reply: str) -> None:
    verdict = TENNIS.judge(reply)
    assert verdict.status == "fail"
    assert verdict.evidence.startswith("only denies or asks")


def test_says_nothing_of_it() -> None:
    assert TENNIS.judge("I love tea.").evidence == "says none of: tennis, racket"


def test_no_term() -> None:
    with pytest.raises(VerifierError, match="'any_of' is empty: expected a term"):
        Likes(any_of=[])
