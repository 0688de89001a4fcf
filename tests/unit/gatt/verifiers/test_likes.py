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
