"""Speaking as oneself: first-person words in the languages of the catalogue."""

from __future__ import annotations

import re

from gatt.verifiers.phrases import Patterns, word_set
from gatt.verifiers.text.words import CJK, words

_RE = Patterns("persons")
_ENGLISH_MARKERS = word_set("persons", "english_markers")
_MIN_ENGLISH_SHARE = 0.12

_ENGLISH_WORDS = word_set("persons", "english_i")
_OTHER_WORDS = word_set("persons", "other_i")
_ELIDED = re.compile(r"(?<!\w)(?:j|m)['’]\w", re.IGNORECASE)
_HAS_CJK = re.compile(f"[{CJK}]")
_FOREIGN_I = word_set("persons", "foreign_i")
_ENGLISH_ALONE = word_set("persons", "english_alone")
_FOREIGN = word_set("persons", "foreign")
_MIN_FOREIGN_SHARE = 0.15
_LAST_LATIN = 0x24F


def first_person_word(text: str) -> str | None:
    """Return the first word by which a text speaks as "I" or "we", or None."""
    if _HAS_CJK.search(text):
        found = _RE.CJK_I.search(text)
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
    return _FOREIGN_I.isdisjoint(spelt) and bool(_RE.ENGLISH_I.search(text))


def is_foreign(text: str) -> bool:
    """Whether a text has a function word of another language than English, or another script."""
    if any(letter.isalpha() and ord(letter) > _LAST_LATIN for letter in text):
        return True
    spelt = [word.lower() for word in words(text)]
    num_foreign = sum(word in _FOREIGN for word in spelt)
    return bool(num_foreign) and num_foreign >= _MIN_FOREIGN_SHARE * len(spelt)
