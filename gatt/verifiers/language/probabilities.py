"""How probable each language is for a text: letter groups, function words and letters together.

The detector alone, which counts groups of letters, is sure of the wrong neighbour on short text
(Danish for Norwegian, Portuguese for Spanish); a handful of function words tells these apart.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from threading import Lock

from lingua import IsoCode639_1, LanguageDetector, LanguageDetectorBuilder
from lingua import Language as LinguaLanguage

from gatt.verifiers.language.function_words import FUNCTION_WORDS, LETTERS
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.words import words

LANGUAGES: dict[str, str] = {
    "fr": "French", "es": "Spanish", "de": "German", "it": "Italian", "pt": "Portuguese",
    "nl": "Dutch", "sv": "Swedish", "da": "Danish", "nb": "Norwegian", "fi": "Finnish",
    "pl": "Polish", "cs": "Czech", "ro": "Romanian", "hu": "Hungarian", "tr": "Turkish",
    "el": "Greek", "ru": "Russian", "zh": "Chinese", "ja": "Japanese", "ko": "Korean",
    "en": "English",
}  # fmt: skip
"""ISO 639-1 code -> name of every language that can be told apart."""

WORD_WEIGHT = 1.5
"""What one function word adds to the log-probability of its languages."""
LETTER_WEIGHT = 1.5
"""What one letter that a language is not spelt with takes from it."""
SPELLING_WEIGHT = 1.5
# Counts of groups of three letters are far too sure of themselves: they are not independent.
SKETCH_TEMPER = 0.5
FLOOR = 1e-5
MIN_RIVAL = 1e-4
"""Least probability, in the first look, of a language that is looked at more closely."""

# With a comma or a cedilla below these letters, the detector takes Romanian for Spanish.
_PLAIN_ROMANIAN = str.maketrans("șțȘȚţŢ", "stSTtT")
# Danish and Norwegian share most words and spell them by different rules.
_SPELLINGS = {
    "da": re.compile(
        r"[^s]tion|sion|æ(?!r)|^(?:vær[dk]|kær|færd|skær[mp])|[aeoø]j(?!e?l)|hed(?:en|er|s)?$"
        r"|^(?:ud|ind(?!iv|ik|ir|us)|op[dbrml])[b-df-hj-np-tv-zaeiouyæøå]{2}|^af[b-hj-np-tv-z]"
        r"|[uø]g(?:e|t|n|$)|sprog|bog(?!s)|[eyø]dd|[^aks]ede[ns]?$|skab|køn$|gørel?|erne[s]?$"
        r"|[ln]dh|[ai]ce|[øy]gl|(?:is|iv|on|ic|ul|or|ig|gr|nt)eret$"
    ),
    "nb": re.compile(
        r"sjon|øy|(?<![rv])ei(?!n)|[^s]kj[eø]|gj[eø]|skje|(?:kk|pp|tt|ll|nn|ss|mm|gg)$"
        r"|het(?:en|er|s)?$|^(?:ut|inn|opp)[b-df-hj-np-tv-zæøå]|^av[b-hj-np-tv-z]"
        r"|(?:br|s)uk|[sø]øk|språk|bok(?!st)|erte?s?$|skap|[^v]egg[ e]|^velg|spørs|åk"
        r"|nn(?:en|et|e)$|^verdi|ferdig|^(?:nett|fort)s|endr|lengd|^krev"
        r"|(?:^|over|inn|opp|fast)sett|(?:is|iv|on|ul|or|ig|gr|nt)ert$"
    ),
}  # fmt: skip
# "This page" is "denne siden" with the noun made definite in Norwegian, "denne side" in Danish.
_GRAMMAR = {
    "nb": re.compile(r"\b(?:denne|dette|disse) \w{2,}(?:en|et|ene|ane)\b"),
    "da": re.compile(r"\b(?:denne|dette) (?!skal\b)\w{3,}(?:[bdfgklmp]|[fl]t)\b"),
}
_LATIN = re.compile(r"[^\W\d_]")
_lock = Lock()


@lru_cache(maxsize=256)
def _build_detector(codes: tuple[str, ...], *, is_sketch: bool) -> LanguageDetector:
    candidates = [
        LinguaLanguage.from_iso_code_639_1(getattr(IsoCode639_1, code.upper())) for code in codes
    ]
    builder = LanguageDetectorBuilder.from_languages(*candidates)
    return (builder.with_low_accuracy_mode() if is_sketch else builder).build()


def detector() -> LanguageDetector:
    """Return the one quick detector of all languages, built at the first call (40 MB, 0.4 s)."""
    with _lock:
        return _build_detector(tuple(LANGUAGES), is_sketch=True)


def _close_detector(codes: tuple[str, ...]) -> LanguageDetector:
    """Return a detector that knows longer groups of letters, for these languages only.

    Each language met for the first time costs about 20 MB and 0.2 s, all of them 430 MB.
    """
    with _lock:
        return _build_detector(codes, is_sketch=False)


@lru_cache(maxsize=2048)
def probabilities(text: str, asked: str) -> dict[str, float]:
    """Return the probability of every language that is possible; they add up to 1.

    A quick look over all languages leaves the rivals, which a closer look tells apart.

    Args:
        text: prose, at least one word.
        asked: the language that is asked for; it is always among the candidates.
    """
    evidence = _evidence(text)
    first = _combined(detector(), text, asked, SKETCH_TEMPER, evidence)
    rivals = tuple(sorted({asked} | {code for code, p in first.items() if p >= MIN_RIVAL}))
    if len(rivals) == 1 or not evidence:
        return first
    return _combined(_close_detector(rivals), text, asked, 1.0, evidence)


def _combined(
    found: LanguageDetector, text: str, asked: str, temper: float, evidence: dict[str, float]
) -> dict[str, float]:
    values = found.compute_language_confidence_values(_plain(text, asked))
    scores = {
        code: temper * math.log(max(value.value, FLOOR)) + evidence.get(code, 0.0)
        for value in values
        if (code := value.language.iso_code_639_1.name.lower())
    }
    best = max(scores.values())
    shares = {code: math.exp(score - best) for code, score in scores.items()}
    total = sum(shares.values())
    return {code: share / total for code, share in shares.items()}


def _plain(text: str, asked: str) -> str:
    text = text.translate(_PLAIN_ROMANIAN)
    # Turkish has the cedilla of its own.
    return text.replace("ş", "s").replace("Ş", "S") if asked == "ro" else text


def _evidence(text: str) -> dict[str, float]:
    """Return what words, letters and spellings add to each language; nothing for other scripts."""
    low = text.lower().replace("’", "'")
    spelt = {word.strip("'") for word in words(low)}
    spelt |= {f"{word.split(chr(39))[0]}'" for word in spelt if "'" in word}
    letters = {c for c in low if not c.isascii() and c.isalpha()}
    if not any(_LATIN.match(c) and c < "ɐ" for c in low):
        return {}
    # Who writes no accent at all leaves them out of these words too.
    known = _FOLDED if low.isascii() else FUNCTION_WORDS
    found = {}
    for code, listed in known.items():
        found[code] = WORD_WEIGHT * len(spelt & listed)
        found[code] -= LETTER_WEIGHT * len(letters - LETTERS[code])
    for code, pattern in _SPELLINGS.items():
        found[code] += SPELLING_WEIGHT * sum(bool(pattern.search(word)) for word in spelt)
    for code, pattern in _GRAMMAR.items():
        found[code] += SPELLING_WEIGHT * bool(pattern.search(low))
    return found


_FOLDED = {
    code: frozenset(listed | {fold_text(word) for word in listed})
    for code, listed in FUNCTION_WORDS.items()
}
