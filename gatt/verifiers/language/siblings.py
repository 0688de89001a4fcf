"""Languages beside those that can be asked for: Ukrainian for Russian, Slovak for Czech.

The detector does not know them and takes each for its neighbour. Letters and function words
that only one of the two has tell them apart.
"""

from __future__ import annotations

from functools import cache

from gatt.verifiers.language.probabilities import FUNCTION_WORDS, LETTERS, spelt_words
from gatt.verifiers.language.text import SCRIPT, script_of
from gatt.verifiers.phrases import read_phrases
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.words import words

_LISTED = read_phrases("languages")
_NONE: frozenset[str] = frozenset()

MIN_ALIEN = 2
MIN_ALIEN_SHARE = 0.08
"""Words with letters of another alphabet from which a text is in another language, and their share."""

OWN_WORDS = {
    **FUNCTION_WORDS,
    "ru": frozenset(_LISTED["russian"].split()),
    "zh": frozenset(_LISTED["chinese"]),
}
"""ISO 639-1 code -> function words; for Chinese, characters that no sentence does without."""
# Letters of names and loan words in any Latin script: "café", "jalapeño", "smörgåsbord".
_LATIN = frozenset("abcdefghijklmnopqrstuvwxyz" + "àáâäåæçèéêëíîïñóôöøúûüœß")
_ALPHABETS = {
    **{code: _LATIN | letters for code, letters in LETTERS.items()},
    "ru": frozenset("абвгдеёжзийклмнопрстуфхцчшщъыьэюя"),
    "el": frozenset("αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώϊϋΐΰ"),
}


@cache
def _told_apart(
    code: str, is_bare: bool
) -> list[tuple[str, frozenset[str], frozenset[str], frozenset[str]]]:
    """Return each sibling of a language with letters and words that only it has, and those it has not."""
    own = OWN_WORDS.get(code, _NONE)
    # Who writes no accent at all leaves them out of the words of either.
    own = own | set(map(fold_text, own)) if is_bare else own
    return [
        (
            sibling["name"],
            frozenset(sibling["letters"]) - LETTERS.get(code, _NONE),
            its - own,
            own - its,
        )
        for sibling in _LISTED["siblings"]
        if code in sibling["of"].split()
        for its in [frozenset(sibling["words"].split())]
    ]


def sibling_of(text: str, code: str) -> tuple[str, bool] | None:
    """Return the sibling that a text may be in, and whether it surely is, or None.

    Args:
        text: prose in the script of the language.
        code: the language that is asked for.
    """
    spelt = spelt_words(text)
    found = []
    for name, letters, its, asked in _told_apart(code, text.isascii()):
        num_its = sum(word in its or not letters.isdisjoint(word) for word in spelt)
        num_asked = sum(word in asked for word in spelt)
        if num_its > max(1, num_asked):
            found.append((num_its - num_asked, name, num_its >= 2 * num_asked))
    return max(found)[1:] if found else None


def alien_words(text: str, code: str) -> list[str]:
    """Return the words that a language has no letters for, or none where these are few.

    Args:
        text: prose without names.
        code: the language that is asked for.
    """
    known, pattern = _ALPHABETS.get(code), SCRIPT[script_of(code)]
    if known is None:
        return []
    spelt = [word for word in words(text) if not word[0].isupper()]
    found = [word for word in spelt if not known.issuperset(pattern.findall(word.lower()))]
    is_other = len(found) >= MIN_ALIEN and len(found) >= MIN_ALIEN_SHARE * len(spelt)
    return found if is_other else []
