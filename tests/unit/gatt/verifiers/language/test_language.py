"""`language`: each language, mixes, what is left out first, what is too short."""

from __future__ import annotations

import pytest

from gatt.errors import VerifierError
from gatt.verifiers.language.rule import LANGUAGES, Language, detector
from gatt.verifiers.language.text import plain_text

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


@pytest.mark.parametrize(
    ("code", "reply"),
    [
        ("fr", "Je vais au Louvre avec John."),
        ("fr", "Je lis « The Lord of the Rings » ce soir avec Anna."),
        ("fr", "The Beatles sont un groupe génial, et j'adore Yesterday."),
        ("sv", "Det är en and, som simmar i sjön."),
        ("da", "I er velkomne, and I kan komme ind."),
        ("de", "Das Meeting wurde gecancelt, also trinke ich einen Smoothie to go."),
        ("de", "Happy Birthday! Ich wünsche dir alles Gute und viel Gesundheit."),
        ("de", "Mein Lieblingsfilm ist The Lord of the Rings: The Two Towers. Den mag ich."),
        ("de", "Super! Genau so machen wir das. Okay?"),
        ("nl", "Leuk! We gaan in het weekend naar een musical: The Lion King."),
        ("it", "Ingredienti:\n- 200 g di farina\n- 3 uova\n- 1 pizzico di sale"),
        ("ru", "Моя любимая песня — Yesterday группы The Beatles."),
        ("ru", 'Он сказал: "Never give up". Я долго не понимал, что он имел в виду этим.'),
        ("zh", "我用iPhone 15 Pro Max拍照，昨天看了《Game of Thrones》。"),
        ("ko", "어제 넷플릭스에서 The Crown 을 봤어요. 정말 재미있었어요."),
    ],
)
def test_loan_words_titles_and_lookalikes_pass(code: str, reply: str) -> None:
    verdict = Language(language=code).check(reply)
    assert verdict.status == "pass", verdict


@pytest.mark.parametrize("code", [c for c in LANGUAGES if c != "en"])
@pytest.mark.parametrize(
    "english",
    [
        "Answer only in {name}.",
        "Always answer in {name}, whatever language I use.",
        "I hope this helps!",
        "What do you think?",
        "Thank you so much!",
        "Sure!",
        "Spring is my favorite season.",
    ],
)
def test_one_english_sentence_in_a_long_reply_fails(code: str, english: str) -> None:
    said = english.format(name=LANGUAGES[code])
    for reply in (f"{TEXTS[code]} {TEXTS[code]}\n\n{said}", f"{said} {TEXTS[code]}"):
        assert Language(language=code).judge(reply).status == "fail", reply


@pytest.mark.parametrize(
    ("code", "reply"),
    [
        ("de", "Ich liebe the spring weil it is so warm and schön und die Blumen are blooming."),
        ("de", "Ich mag den Frühling, because the weather is warm, und gehe gern spazieren."),
        ("fr", "Je suis very happy today parce que the sun is shining et je peux go to the beach."),
        ("de", "Hier ist es: Das Wetter ist mild.\nTranslation: The weather is mild in spring."),
        ("de", "Ich mag den Frühling. De bloemen zijn erg mooi en het wordt steeds warmer."),
        ("es", "Me gusta la primavera. Les fleurs sont très belles et il fait beau partout."),
        ("ja", "春が好きです。我喜欢春天，因为天气很好。花也开了。"),
        ("zh", "我喜欢spring because the weather is very nice，花也开了。"),
    ],
)
def test_halves_and_sentences_of_other_languages_fail(code: str, reply: str) -> None:
    assert Language(language=code).check(reply).status == "fail"


@pytest.mark.parametrize(
    ("codes", "reply"),
    [
        ("ru", "Я дуже люблю весну, бо тоді тепло і квітнуть дерева."),
        ("ru", "Я вельмі люблю вясну, бо тады цёпла і цвітуць дрэвы."),
        ("ru", "Много обичам пролетта, защото времето е топло и слънчево."),
        ("ru", "Мне нравится весна. Але іноді йде дощ, і тоді я сиджу вдома."),
        ("cs pl", "Mám veľmi rád jar, pretože je teplo a kvitnú kvety."),
        ("cs", "Proljeće mi se jako sviđa jer je toplo i cvijeće cvjeta."),
        ("es fr", "M'agrada molt la primavera perquè fa bon temps i hi ha flors."),
        ("es pt", "Gústame moito a primavera porque fai bo tempo e hai flores."),
        ("nl", "Ek hou baie van die lente omdat dit warm is en die blomme blom."),
        ("tr", "Mən yazı çox sevirəm, çünki hava isti olur və güllər açır."),
        ("fi", "Mulle meeldib kevad, sest siis on soe ja lilled õitsevad."),
        ("zh", "我好鍾意春天，因為天氣好好，花都開咗，我哋可以去公園行下。"),
        (
            "ru",
            "Мен көктемді қатты жақсы көремін, өйткені ауа райы жылы және гүлдер ашылады.",
        ),
    ],
)
def test_siblings_that_the_detector_does_not_know_fail(codes: str, reply: str) -> None:
    for code in codes.split():
        assert Language(language=code).check(reply).status == "fail", code


@pytest.mark.parametrize(
    ("code", "reply"),
    [
        ("ru", "Да, конечно. Я сейчас живу в Києві и люблю борщ."),
        ("nb", "Eg likar best å gå på ski når det er kaldt ute, og så drikk eg kakao."),
        ("es", "Vos sabés que a mí me encanta el mate, che. ¿Querés uno?"),
        ("zh", "我喜歡在春天去公園散步，因為天氣很舒服，花也開了。"),
    ],
)
def test_varieties_of_a_language_and_foreign_names_pass(code: str, reply: str) -> None:
    verdict = Language(language=code).check(reply)
    assert verdict.status == "pass", verdict


LADEN = [
    "Run `pip install requests`, then open https://example.org/docs in Firefox.",
    "Set DEBUG=True in settings.py and restart the server before you try again.",
    "You can email Jean-Pierre Dupont at jp@example.fr or call Maria Schmidt in Berlin.",
    "The file /usr/share/locale/fr/LC_MESSAGES/django.mo is missing on this machine.",
    "See https://fr.wikipedia.org/wiki/Paris and https://de.wikipedia.org/wiki/Berlin for more.",
    "```python\nprint('bonjour')\n```\nThis prints a greeting in French.",
    "Napoleon Bonaparte, Josephine de Beauharnais and Marie-Louise met in Fontainebleau.",
    "I grew up between Copenhagen, Oslo and Stockholm, and I still miss the winters there.",
    "Use get_user() from utils/accounts.py, it returns None for unknown names.",
    "Sushi, ramen and tempura are what I would order in Tokyo.",
    "My friend Giovanni says that Pizza Margherita was named after a queen.",
    "1. Open Visual Studio Code\n2. Press Ctrl+Shift+P\n3. Type `reload` and hit Enter",
    "Try **El Rey de los Tacos** on Calle Ocho, ask for Miguel.",
    "OK, sure! Here you go: https://github.com/example/example",
    "That is a no from me, in general I do not like to travel so far.",
    "Great! Let me know if any issue occurs, bug or not.",
    "JSON, XML and YAML are all fine for that.",
    "Bonjour! How can I help you today?",
    "Hola Señor García, your order is on its way to Málaga.",
    "Wir schaffen das is what Angela Merkel said in 2015.",
]


@pytest.mark.parametrize("reply", LADEN)
def test_english_around_code_addresses_and_names_passes_for_no_other_language(reply: str) -> None:
    passed = [c for c in LANGUAGES if Language(language=c).check(reply).status == "pass"]
    assert set(passed) <= {"en"}


@pytest.mark.parametrize(
    ("code", "reply"),
    [
        ("es", "Estoy muy bien, gracias, pero manana no puedo ir porque trabajo todo el dia."),
        ("fr", "Je suis tres content de vous avoir aide, a bientot et bonne journee a tous."),
        ("pt", "Nao sei se posso ajudar voce hoje, mas amanha estou livre a tarde toda."),
        ("ro", "Nu stiu daca pot sa te ajut astazi, dar maine am timp toata ziua."),
        ("cs", "Nevim, jestli ti dnes mohu pomoci, ale zitra mam cas cely den."),
        ("pl", "Nie wiem, czy moge ci dzisiaj pomoc, ale jutro mam czas przez caly dzien."),
        ("de", "Ich weiss nicht, ob ich dir heute helfen kann, aber morgen habe ich Zeit."),
    ],
)
def test_who_writes_without_accents_is_understood(code: str, reply: str) -> None:
    passed = [c for c in LANGUAGES if Language(language=c).check(reply).status == "pass"]
    assert passed == [code]


@pytest.mark.parametrize(
    ("code", "other", "reply"),
    [
        ("nb", "da", "Denne siden er ikke oversatt ennå, men du kan lese den på engelsk."),
        ("da", "nb", "Denne side er ikke oversat endnu, men du kan læse den på engelsk."),
        ("nb", "da", "Jeg liker best å gå på ski når det er kaldt ute."),
        ("da", "nb", "Jeg kan bedst lide at stå på ski, når det er koldt udenfor."),
        ("sv", "nb", "Jag tycker bäst om att åka skidor när det är kallt ute."),
        ("pt", "es", "Não sei se isso é possível, mas vou tentar."),
        ("es", "pt", "No sé si eso es posible, pero voy a intentarlo."),
        ("cs", "pl", "Nevím, jestli je to možné, ale zkusím to."),
        ("nl", "de", "Ik weet niet of dat mogelijk is, maar ik zal het proberen."),
        ("it", "es", "Non so se sia possibile, ma ci proverò."),
    ],
)
def test_neighbours_are_told_apart(code: str, other: str, reply: str) -> None:
    assert Language(language=code).check(reply).status == "pass"
    assert Language(language=other).check(reply).status == "fail"


def test_what_two_neighbours_both_say_is_undecided() -> None:
    for code in ("da", "nb"):
        assert Language(language=code).check("Jeg er ikke en robot").status == "undecided"


@pytest.mark.parametrize(
    ("code", "reply", "status"),
    [
        ("el", "Η τιμή του πεδίου δεν είναι string ή null.", "pass"),
        ("ko", "예: '/flatpages/contact_page.html' 파일을 사용할 수 없는 경우입니다.", "pass"),
        ("ru", "Я работаю в Google Maps и люблю YouTube.", "pass"),
        ("ja", "半角英数、記号を使用できます。", "pass"),
        ("ru", "This is the list of all the files. Да.", "fail"),
        ("el", "Αυτό is referenced by the following items", "fail"),
        ("el", "To powinien być tekst po polsku, γ zamiast ε.", "fail"),
    ],
)
def test_names_in_latin_letters_inside_another_script(code: str, reply: str, status: str) -> None:
    assert Language(language=code).check(reply).status == status


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


@pytest.mark.parametrize("reply", ["看看 example.com 吧", "看看example.com吧", "看看 a/b/c 吧"])
def test_only_the_address_is_left_out_of_a_text_without_blanks(reply: str) -> None:
    assert plain_text(reply).split() == ["看看", "吧"]
