"""Speaking as oneself: first-person words in the languages of the catalogue."""

from __future__ import annotations

import re

from gatt.verifiers.text.words import CJK, words

# An English text is judged by English words alone: "me" or "mi" may be anything in it.
_ENGLISH_MARKERS = {
    "the", "is", "was", "are", "were", "and", "of", "with", "that", "this", "for", "from", "his",
    "her",
}  # fmt: skip
_MIN_ENGLISH_SHARE = 0.12

_ENGLISH = "i me my mine myself we us our ours ourselves i'm i've i'd i'll we're we've we'll we'd"
_OTHER = (
    # French, Spanish, German, Italian, Portuguese, Dutch
    "je j'ai moi mon ma mes nous notre nos | yo mi mis soy estoy tengo fui nací gusta me nosotros "
    "nuestro nuestra | ich mein meine meinen meiner meinem mir mich wir unser unsere | io mio mia "
    "miei mie sono ho mi noi nostro nostra | eu meu minha meus minhas sou estou tenho nós nosso "
    "nossa | ik mijn mij we wij ons onze | "
    # Swedish, Danish, Norwegian, Finnish, Polish, Czech
    "jag mig min mitt mina vi vår våra | jeg mig mit mine vores | jeg meg mitt vår | minä minun "
    "minua minulla olen me meidän | jestem mam mój moja moje mnie mi mną my nasz nasza | jsem mám "
    "můj moje má mě mi my náš naše | "
    # Romanian, Hungarian, Turkish, Greek, Russian
    "eu sunt meu mea mei mele mă mi-a noi nostru noastră | én vagyok nekem engem mi a nevem | "
    "benim bana beni biz bizim adım | εγώ είμαι μου με εμείς μας έχω | я меня мне мной мой моя моё "
    "мои мы нас нам наш наша"
)
_OTHER_WORDS = frozenset(_OTHER.replace("|", " ").split()) - {"a"}
_ELIDED = re.compile(r"(?<!\w)(?:j|m)['’]\w", re.IGNORECASE)
_CJK_WORDS = re.compile(
    "我|咱|私|僕|ぼく|わたし|俺|おれ|吾輩|余は|わし|拙者"
    "|나는|내가|저는|제가|나의|내 |저의|제 |저희|우리|나도|저도"
)
_HAS_CJK = re.compile(f"[{CJK}]")
_ENGLISH_WORDS = frozenset(_ENGLISH.split())
_ENGLISH_I = re.compile(
    r"(?<!\w)(?:I(?:['’](?:m|d|ve|ll)\b| [a-z])|i (?:am|was|had|do|did|can|will|[a-z]+ed)\b)"
)
# "I" is an article in Italian and "in" in Scandinavia.
_FOREIGN_I = frozenset({
    "il", "gli", "che", "di", "della", "del", "sono", "per", "un", "una", "non", "mio", "mia",
    "miei", "mie", "nostri", "den", "det", "och", "og", "jag", "jeg", "min", "mitt", "er", "är",
    "en", "nie", "się", "jestem", "w",
})  # fmt: skip
_ENGLISH_ALONE = frozenset({
    "the", "and", "my", "i'm", "i've", "i'll", "i'd", "you", "your", "with", "that", "from",
    "this", "have", "our", "about", "not", "to", "would", "it's", "don't", "love", "like", "of",
})  # fmt: skip

_FOREIGN = frozenset({
    "der", "und", "ich", "ist", "nicht", "das", "ein", "eine", "mit", "el", "los", "las", "que",
    "es", "una", "por", "con", "para", "muy", "le", "les", "et", "je", "est", "pas", "des", "une",
    "il", "che", "per", "di", "non", "sono", "och", "jag", "att", "det", "ikke", "og", "jeg", "het",
    "een", "ik", "niet", "van", "nie", "się", "na", "jest", "um", "uma", "não", "com", "em", "mein",
    "mi", "ma", "gosto", "amo", "gusta", "ve", "bir", "ben", "av", "til", "på", "för",
})  # fmt: skip
_MIN_FOREIGN_SHARE = 0.15
_LAST_LATIN = 0x24F


def first_person_word(text: str) -> str | None:
    """Return the first word by which a text speaks as "I" or "we", or None."""
    if _HAS_CJK.search(text):
        found = _CJK_WORDS.search(text)
        if found:
            return found[0].strip()
    spelt = [word.lower().replace("’", "'").rstrip("'") for word in words(text)]
    english = next((word for word in spelt if word in _ENGLISH_WORDS), None)
    if english:
        return english
    num_markers = sum(word in _ENGLISH_MARKERS for word in spelt)
    if num_markers >= _MIN_ENGLISH_SHARE * len(spelt):
        return None
    elided = _ELIDED.search(text)
    if elided:
        return elided[0]
    return next((word for word in spelt if word in _OTHER_WORDS), None)


def is_english(text: str) -> bool:
    """Whether a text has a word that only English has, or an English "I"."""
    spelt = {word.lower().replace("’", "'") for word in words(text)}
    if not _ENGLISH_ALONE.isdisjoint(spelt):
        return True
    return _FOREIGN_I.isdisjoint(spelt) and bool(_ENGLISH_I.search(text))


def is_foreign(text: str) -> bool:
    """Whether a text has a function word of another language than English, or another script."""
    if any(letter.isalpha() and ord(letter) > _LAST_LATIN for letter in text):
        return True
    spelt = [word.lower() for word in words(text)]
    num_foreign = sum(word in _FOREIGN for word in spelt)
    return bool(num_foreign) and num_foreign >= _MIN_FOREIGN_SHARE * len(spelt)
