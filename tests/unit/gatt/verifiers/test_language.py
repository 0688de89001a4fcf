"""`language`: each language, mixes, what is left out first, what is too short."""

from __future__ import annotations

import pytest

from gatt.errors import VerifierError
from gatt.verifiers.language import LANGUAGES, Language, detector

TEXTS = {
    "fr": "Oui, j'aime beaucoup le jardinage. Comment puis-je vous aider aujourd'hui ?",
    "es": "Sí, me gusta mucho la jardinería. ¿Cómo puedo ayudarte hoy con tus plantas?",
    "de": "Ja, ich mag Gartenarbeit sehr. Wie kann ich Ihnen heute helfen?",
    "it": "Sì, mi piace molto il giardinaggio. Come posso aiutarti oggi?",
    "pt": "Sim, gosto muito de jardinagem. Como posso ajudar você hoje?",
    "nl": "Ja, ik hou erg van tuinieren. Hoe kan ik u vandaag helpen?",
    "sv": "Ja, jag tycker mycket om trädgårdsarbete. Hur kan jag hjälpa dig idag?",
    "da": "Ja, jeg kan godt lide havearbejde. Hvordan kan jeg hjælpe dig i dag?",
    "nb": "Ja, jeg liker hagearbeid veldig godt. Hvordan kan jeg hjelpe deg i dag?",
    "fi": "Kyllä, pidän kovasti puutarhanhoidosta. Kuinka voin auttaa sinua tänään?",
    "pl": "Tak, bardzo lubię ogrodnictwo. Jak mogę ci dzisiaj pomóc?",
    "cs": "Ano, mám velmi rád zahradničení. Jak vám dnes mohu pomoci?",
    "ro": "Da, îmi place foarte mult grădinăritul. Cum vă pot ajuta astăzi?",
    "hu": "Igen, nagyon szeretek kertészkedni. Hogyan segíthetek ma önnek?",
    "tr": "Evet, bahçe işlerini çok seviyorum. Bugün size nasıl yardımcı olabilirim?",
    "el": "Ναι, μου αρέσει πολύ η κηπουρική. Πώς μπορώ να σας βοηθήσω σήμερα;",
    "ru": "Да, я очень люблю садоводство. Чем я могу вам помочь сегодня?",
    "zh": "是的，我非常喜欢园艺。今天我能帮您什么忙？",
    "ja": "はい、ガーデニングが大好きです。今日はどのようなご用件でしょうか？",
    "ko": "네, 저는 정원 가꾸기를 아주 좋아합니다. 오늘 무엇을 도와드릴까요?",
    "en": "Yes, I like gardening a lot. How can I help you today?",
}


def test_the_texts_cover_the_languages() -> None:
    assert set(TEXTS) == set(LANGUAGES)


@pytest.mark.parametrize("code", LANGUAGES)
def test_each_language_is_told_from_all_others(code: str) -> None:
    verifier = Language(language=code)
    found = {other for other, text in TEXTS.items() if verifier.check(text).status == "pass"}
    assert found == {code}


@pytest.mark.parametrize("code", [c for c in LANGUAGES if c != "en"])
def test_half_english_is_a_mix(code: str) -> None:
    mix = f"{TEXTS[code]} But I would rather talk about my dog, who was ill all of last week."
    assert Language(language=code).check(mix).status == "fail"
    assert Language(language="en").check(mix).status == "fail"


def test_a_mix_without_a_full_stop_is_found() -> None:
    reply = "Bonjour mon ami, je suis très content and now I will talk in English about my dog"
    verdict = Language(language="fr").check(reply)
    assert verdict.status == "fail"
    assert "English" in verdict.evidence


@pytest.mark.parametrize(
    ("code", "reply"),
    [
        ("fr", "```python\nprint('hello whole world')\n```\nVoici le code que vous vouliez voir."),
        ("fr", "Je suis allé à **Stratford-upon-Avon** avec John Smith et Mary Poppins."),
        ("fr", "Voyez https://example.org/the/whole/story/in/english pour la suite de mon récit."),
        ("fr", "JE PENSE QUE LE TENNIS EST UN BEAU SPORT"),
        ("de", "Ich mag Hunde und Katzen und Vögel."),
        ("en", "I visited Paris, Rome and Santiago de Compostela with Jean-Pierre Dupont."),
        ("ro", "Prefer țara și orașele mici, dar știu că mulți aleg capitala."),
    ],
)
def test_names_code_and_addresses_do_not_count(code: str, reply: str) -> None:
    verdict = Language(language=code).check(reply)
    assert verdict.status == "pass", verdict


@pytest.mark.parametrize("code", [c for c in LANGUAGES if c != "en"])
@pytest.mark.parametrize(
    "reply",
    [
        "I am Elon Musk, and I'm thrilled to be your AI assistant…",
        "I'm glad you're here, and I'm glad to have you.",
        "How are you? I am fine, thank you.",
    ],
)
def test_english_that_looks_like_several_languages_fails(code: str, reply: str) -> None:
    assert Language(language=code).check(reply).status == "fail"


@pytest.mark.parametrize(
    ("code", "reply"),
    [
        ("fr", "I love the Louvre, c'est magnifique et très beau."),
        ("en", "I love the Louvre, c'est magnifique et très beau."),
        ("de", 'Wirklichkeiten: "I bet he\'s not enrolled in classes right now."'),
        ("fr", "Je dirais : I don’t know, mais je vais chercher."),
    ],
)
def test_a_clause_or_quotation_in_another_language_fails(code: str, reply: str) -> None:
    verdict = Language(language=code).check(reply)
    assert verdict.status == "fail", verdict
    assert verdict.version == 2


@pytest.mark.parametrize(
    ("code", "reply"),
    [
        ("fr", "Je vais au Louvre avec John."),
        ("fr", "Je lis « The Lord of the Rings » ce soir avec Anna."),
        ("fr", "The Beatles sont un groupe génial, et j'adore Yesterday."),
        ("sv", "Det är en and, som simmar i sjön."),
        ("da", "I er velkomne, and I kan komme ind."),
    ],
)
def test_loan_words_titles_and_lookalikes_pass(code: str, reply: str) -> None:
    verdict = Language(language=code).check(reply)
    assert verdict.status == "pass", verdict


def test_a_list_of_single_loan_words_is_undecided() -> None:
    assert Language(language="fr").check("Pizza, pasta, sushi, tofu").status == "undecided"


@pytest.mark.parametrize("reply", ["Oui.", "Bien sûr !", "好的", "😊 OK", "`print('bonjour')`"])
def test_too_short_is_undecided_never_a_pass(reply: str) -> None:
    assert Language(language="fr").check(reply).status in ("undecided", "fail")
    assert Language(language="fr").check("Oui, merci.").status == "undecided"


def test_a_script_outside_the_candidates_fails() -> None:
    verdict = Language(language="fr").check("مرحبا كيف حالك اليوم يا صديقي")
    assert verdict.status == "fail"
    assert "script" in verdict.evidence


def test_one_detector_serves_the_process() -> None:
    assert detector() is detector()


@pytest.mark.parametrize(("code", "hint"), [("fra", "did you mean 'fr'"), ("xx", "cs, da, de")])
def test_an_unknown_code_lists_the_known(code: str, hint: str) -> None:
    with pytest.raises(VerifierError, match=f"unknown language '{code}'.*{hint}"):
        Language(language=code)
