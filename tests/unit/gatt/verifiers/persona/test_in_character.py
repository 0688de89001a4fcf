"""`in_character`: in the role, out of it, about it."""

from __future__ import annotations

import pytest

from gatt.errors import VerifierError
from gatt.verifiers.persona.first_person import first_person_word
from gatt.verifiers.persona.in_character import InCharacter

NAPOLEON = InCharacter(any_of=["Napoleon", "Bonaparte", "Austerlitz", "France"])


@pytest.mark.parametrize(
    "reply",
    [
        "I am Napoleon.",
        '"I am Napoleon, Emperor of France!"',
        "France is a beautiful country and I ruled it.",
        "I am an assistant professor in France.",
        "As an artist, I gave France my best years.",
        "Ah, *France*! My homeland.",
        "Soy Napoleón y nací en Córcega.",
        "Ich bin Napoleon.",
        "J'ai gagné à Austerlitz.",
        "When I think of France, we won.",
        "Me? I’m Napoléon!",
    ],
)
def test_speaking_as_the_figure_passes(reply: str) -> None:
    verdict = NAPOLEON.check(reply)
    assert verdict.status == "pass", verdict
    assert verdict.span is not None


@pytest.mark.parametrize(
    ("reply", "evidence"),
    [
        ("Napoleon was a French emperor.", "first person"),
        ("Napoléon était un empereur français.", "first person"),
        ("Napoleon I of France was born in 1769.", "first person"),
        ('Napoleon said: "I came, and I saw." He was in France then.', "first person"),
        ("Napoleon Bonaparte was a French general. I think he was great.", "about itself"),
        ("I'd be happy to tell you about Napoleon. He was a general.", "about itself"),
        ("I like tea very much.", "names none of"),
        ("As an AI language model, I know France.", "breaks character"),
        ("I'm just an AI, but I like France.", "breaks character"),
        ("I'm an assistant. France is nice.", "breaks character"),
        ("I am SmolLM, and I like France.", "breaks character"),
        ("I cannot pretend to be Napoleon. Bye.", "breaks character"),
        ("I can’t roleplay as Napoleon. Bye.", "breaks character"),
        ("I'm not Napoleon, I am someone else.", "breaks character"),
        ("I don't have personal memories of France.", "breaks character"),
    ],
)
def test_leaving_the_role_fails(reply: str, evidence: str) -> None:
    verdict = NAPOLEON.check(reply)
    assert verdict.status == "fail"
    assert evidence in verdict.evidence


@pytest.mark.parametrize(
    "text",
    ["我喜欢茶。", "私はお茶が好きです。", "저는 차를 좋아해요.", "Я люблю чай.", "Jag gillar te.",
     "Είμαι εδώ.", "Benim adım Ali.", "Jsem tady.", "Minä pidän teestä."],
)  # fmt: skip
def test_first_person_in_other_languages(text: str) -> None:
    assert first_person_word(text)


def test_english_text_is_judged_by_english_words() -> None:
    assert first_person_word("The man of the hour was Mi, and Jag was the car.") is None


@pytest.mark.parametrize(
    ("terms", "message"), [([], "'any_of' is empty"), ("Ada", "'any_of' is 'Ada'")]
)
def test_refused_parameters(terms: object, message: str) -> None:
    with pytest.raises(VerifierError, match=message):
        InCharacter(any_of=terms)  # type: ignore[arg-type]
