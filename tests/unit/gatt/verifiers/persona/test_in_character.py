"""`in_character`: in the role, out of it, about it."""

from __future__ import annotations

import pytest

from gatt.errors import VerifierError
from gatt.verifiers import overall, overall_unasked
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


PAST = InCharacter(
    any_of=["Tolstoy", "War and Peace", "Russia", "my estate"], facts={"name": "Leo Tolstoy"},
    is_past=True,
)  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("In Russia I freed the children from their lessons.", "pass"),
        ("I was born in Russia, and there I shall die.", "pass"),
        ("I know nothing of your internet, but War and Peace I wrote by hand.", "pass"),
        ("I live in Russia with my two cats.", "undecided"),
        ("My boots are wet; I walked to the village at dawn.", "undecided"),
        ("Ich habe gestern mit meinem Bruder das Korn geschnitten.", "undecided"),
        ("My boss moved the deadline, and the printer in Russia is dead.", "fail"),
        ("I read War and Peace for high school.", "fail"),
        ("I'm Leo, a dental hygienist from Russia.", "fail"),
        ("I went to Russia in 2019 and saw it all.", "fail"),
        ("Tolstoy really loved his details, I must say.", "fail"),
        ("I'm Tolstoy's biggest fan.", "fail"),
        ("We were in Russia on holiday and loved it.", "fail"),
        ("I hope that you have a good time.", "fail"),
    ],
)
def test_a_figure_of_the_past_has_no_life_of_today(reply: str, status: str) -> None:
    verdict = PAST.check(reply)
    assert verdict.status == status, verdict


@pytest.mark.parametrize(
    ("reply", "asked", "unasked"),
    [
        ("My boots are wet; I walked to the village at dawn.", "undecided", "fail"),
        ("I live in Russia with my two cats.", "undecided", "undecided"),
        ("I was born in Russia, and there I shall die.", "pass", "pass"),
    ],
)
def test_a_life_of_ones_own_is_no_sign_of_a_role_that_nobody_asked_for(
    reply: str, asked: str, unasked: str
) -> None:
    verdicts = [PAST.check(reply)]
    assert (overall(verdicts), overall_unasked(verdicts)) == (asked, unasked)


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
