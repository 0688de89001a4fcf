"""How probable each language is for a text: letter groups, function words and letters together.

The detector alone, which counts groups of letters, is sure of the wrong neighbour on short text
(Danish for Norwegian, Portuguese for Spanish); a handful of function words tells these apart.
"""

from __future__ import annotations

import math
from functools import lru_cache

import stopwordsiso
from lingua import IsoCode639_1, LanguageDetector, LanguageDetectorBuilder
from lingua import Language as LinguaLanguage

from gatt.verifiers.phrases import read_phrases
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.words import words

LANGUAGES: dict[str, str] = {
    "fr": "French", "es": "Spanish", "de": "German", "it": "Italian", "pt": "Portuguese",
    "nl": "Dutch", "sv": "Swedish", "da": "Danish", "nb": "Norwegian", "fi": "Finnish",
    "pl": "Polish", "cs": "Czech", "ro": "Romanian", "hu": "Hungarian", "tr": "Turkish",
    "el": "Greek", "ru": "Russian", "zh": "Chinese", "ja": "Japanese", "ko": "Korean",
    "en": "English",
}  # fmt: skip
"""ISO 639-1 code -> name of every language that can be asked for."""
NEIGHBOURS: dict[str, str] = {
    "af": "Afrikaans", "az": "Azerbaijani", "be": "Belarusian", "bg": "Bulgarian", "ca": "Catalan",
    "eo": "Esperanto", "et": "Estonian", "hr": "Croatian", "is": "Icelandic", "kk": "Kazakh",
    "mk": "Macedonian", "sk": "Slovak", "sl": "Slovene", "sr": "Serbian", "uk": "Ukrainian",
}  # fmt: skip
"""The same of languages that a text may be in where another was asked for: Ukrainian for Russian."""

_LISTED = read_phrases("languages")
LETTERS = {code: frozenset(listed) for code, listed in _LISTED["letters"].items()}
"""ISO 639-1 code -> letters beyond a to z that its own words are spelt with."""


def _function_words(code: str) -> frozenset[str]:
    own = frozenset(_LISTED["function_words"].get(code, "").split())
    if code in _LISTED["listed_here"].split() or not stopwordsiso.has_lang(code):
        return own
    # A single letter is a slip there, and so is a word with letters of another language.
    listed = own | {word for word in stopwordsiso.stopwords(code) if len(word) > 1}
    return frozenset(w for w in listed if all(c.isascii() or c in LETTERS[code] for c in w))


FUNCTION_WORDS: dict[str, frozenset[str]] = {code: _function_words(code) for code in LETTERS}
"""ISO 639-1 code -> words in small letters, with the accents that they are spelt with."""
_FOLDED = {code: listed | set(map(fold_text, listed)) for code, listed in FUNCTION_WORDS.items()}

SIGN_WEIGHT = 1.5
"""What a function word adds to the log-probability of its languages, and a foreign letter takes."""
# Counts of groups of three letters are far too sure of themselves: they are not independent.
SKETCH_TEMPER = 0.5
FLOOR = 1e-5
EVEN_CHANCE = 0.5
MIN_RIVAL = 1e-4
"""Least probability, in the first look, of a language that is looked at more closely."""


def likeliest(text: str, asked: str) -> tuple[str, float, float]:
    """Return the likeliest language of a text, its probability, and that of the asked language."""
    shares = probabilities(text, asked)
    best = max(shares, key=lambda code: shares[code])
    return best, shares[best], shares[asked]


def language_of(text: str, otherwise: str) -> str:
    """Return the code of the language of a text; `otherwise` below an even chance ("Mention yoga.")."""
    if not words(text):
        return otherwise
    best, chance, _ = likeliest(text, otherwise)
    return best if chance >= EVEN_CHANCE else otherwise


@lru_cache(maxsize=2048)
def probabilities(text: str, asked: str) -> dict[str, float]:
    """Return the probability of every language that is possible; they add up to 1.

    A quick look over all languages leaves the rivals, which a closer look tells apart.

    Args:
        text: prose, at least one word.
        asked: the language that is asked for; it and its neighbours are always among the candidates.
    """
    evidence = _evidence(text)
    near = _LISTED["neighbours"].get(asked, "").split()
    sketch = _detector((*LANGUAGES, *near), is_sketch=True)
    first = _combined(sketch, text, SKETCH_TEMPER, evidence)
    rivals = tuple(sorted({asked} | {code for code, p in first.items() if p >= MIN_RIVAL}))
    if len(rivals) == 1 or not (evidence or near):
        return first
    return _combined(_detector(rivals, is_sketch=False), text, 1.0, evidence)


@lru_cache(maxsize=256)
def _detector(codes: tuple[str, ...], *, is_sketch: bool) -> LanguageDetector:
    """Return a detector of some languages; one that is no sketch knows longer groups of letters.

    The sketch of all languages takes 40 MB. Else each language that is met for the first time takes about 20 MB
    and 0.2 s, all of them 430 MB.
    """
    candidates = [
        LinguaLanguage.from_iso_code_639_1(getattr(IsoCode639_1, code.upper())) for code in codes
    ]
    builder = LanguageDetectorBuilder.from_languages(*candidates)
    return (builder.with_low_accuracy_mode() if is_sketch else builder).build()


def _combined(
    detector: LanguageDetector, text: str, temper: float, evidence: dict[str, float]
) -> dict[str, float]:
    scores = {}
    for value in detector.compute_language_confidence_values(text):
        code = value.language.iso_code_639_1.name.lower()
        scores[code] = temper * math.log(max(value.value, FLOOR)) + evidence.get(code, 0.0)
    best = max(scores.values())
    shares = {code: math.exp(score - best) for code, score in scores.items()}
    total = sum(shares.values())
    return {code: share / total for code, share in shares.items()}


def _evidence(text: str) -> dict[str, float]:
    """Return what words and letters add to each language in Latin or Cyrillic script."""
    low = text.lower().replace("’", "'")
    if not any(c.isalpha() and (c < "ɐ" or "Ѐ" <= c <= "ӿ") for c in low):
        return {}
    spelt = set(spelt_words(low))
    spelt |= {f"{word.partition(chr(39))[0]}'" for word in spelt if "'" in word}
    letters = {c for c in low if not c.isascii() and c.isalpha()}
    # Who writes no accent at all leaves them out of these words too.
    words_by_code = _FOLDED if low.isascii() else FUNCTION_WORDS
    return {
        code: SIGN_WEIGHT * (len(spelt & listed) - len(letters - LETTERS[code]))
        for code, listed in words_by_code.items()
    }


def spelt_words(text: str) -> list[str]:
    """Return the words of a text in small letters, with straight apostrophes inside them only."""
    return [word.lower().replace("’", "'").strip("'") for word in words(text)]
