"""Languages beside those that can be asked for: Ukrainian for Russian, Slovak for Czech.

The detector does not know them and takes each for its neighbour. Letters and function words
that only one of the two has tell them apart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from gatt.verifiers.language.function_words import FUNCTION_WORDS, LETTERS
from gatt.verifiers.phrases import read_phrases
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.words import words

_LISTED = read_phrases("languages")

MIN_ALIEN = 2
MIN_ALIEN_SHARE = 0.08
"""Words with letters of another alphabet from which a text is in another language, and their share."""


@dataclass(frozen=True, slots=True)
class _Told:
    """What only a sibling has, and what only the language beside it has."""

    name: str
    letters: frozenset[str]
    of_it: frozenset[str]
    of_asked: frozenset[str]
    listed: frozenset[str]


OWN_WORDS = {
    **FUNCTION_WORDS,
    "ru": frozenset(_LISTED["russian"].split()),
    "zh": frozenset(_LISTED["chinese"]),
}
"""ISO 639-1 code -> function words; for Chinese, characters that no sentence does without."""
_LOANED = frozenset("àáâäåæçèéêëíîïñóôöøúûüœß")
"""Letters of names and loan words in any Latin script: "café", "jalapeño", "smörgåsbord"."""
_ALPHABETS = {
    "ru": frozenset("абвгдеёжзийклмнопрстуфхцчшщъыьэюя"),
    "el": frozenset("αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώϊϋΐΰ"),
}
_SCRIPTS = {"ru": re.compile("[Ѐ-ӿ]"), "el": re.compile("[Ͱ-Ͽἀ-῿]")}
_LATIN = re.compile("[a-zà-ɏḀ-ỿ]")


@lru_cache(maxsize=1)
def _told_apart() -> dict[str, list[_Told]]:
    """Return for each code what tells its siblings from it."""
    found: dict[str, list[_Told]] = {}
    for sibling in _LISTED["siblings"]:
        listed = frozenset(sibling["words"].split())
        for code in sibling["of"].split():
            own = OWN_WORDS[code]
            letters = frozenset(sibling["letters"]) - LETTERS.get(code, frozenset())
            told = _Told(sibling["name"], letters, listed - own, own - listed, listed)
            found.setdefault(code, []).append(told)
    return found


def sibling_of(text: str, code: str) -> tuple[str, bool] | None:
    """Return the sibling that a text may be in, and whether it surely is, or None.

    Args:
        text: prose in the script of the language.
        code: the language that is asked for.
    """
    spelt = [word.lower().replace("’", "'").strip("'") for word in words(text)]
    # Who writes no accent at all leaves them out of the words of either.
    bare = _bare(code) if text.isascii() else frozenset()
    found = []
    for told in _told_apart().get(code, ()):
        num_its = sum(
            (word in told.of_it and word not in bare) or not told.letters.isdisjoint(word)
            for word in spelt
        )
        num_asked = sum(word in told.of_asked or word in bare - told.listed for word in spelt)
        if num_its > max(1, num_asked):
            found.append((num_its - num_asked, told.name, num_its, num_asked))
    if not found:
        return None
    _, name, num_its, num_asked = max(found)
    return name, num_its >= 2 * num_asked


@lru_cache(maxsize=32)
def _bare(code: str) -> frozenset[str]:
    """Return the words of a language that have accents, without them."""
    return frozenset(map(fold_text, OWN_WORDS.get(code, ()))) - OWN_WORDS.get(code, frozenset())


def alien_words(text: str, code: str) -> list[str]:
    """Return the words that a language has no letters for, or none where these are few.

    Args:
        text: prose without names.
        code: the language that is asked for.
    """
    if code in LETTERS:
        pattern, known = _LATIN, frozenset("abcdefghijklmnopqrstuvwxyz") | LETTERS[code] | _LOANED
    elif code in _ALPHABETS:
        pattern, known = _SCRIPTS[code], _ALPHABETS[code]
    else:
        return []
    spelt = [word for word in words(text) if not word[0].isupper()]
    found = [word for word in spelt if not known.issuperset(pattern.findall(word.lower()))]
    is_other = len(found) >= MIN_ALIEN and len(found) >= MIN_ALIEN_SHARE * len(spelt)
    return found if is_other else []
