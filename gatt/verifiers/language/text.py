"""What of a reply shows its language: no code, no names, no single words of another script."""

from __future__ import annotations

import re

from gatt.verifiers.language.clauses import (
    clauses,
    has_title_case,
    num_english_words,
    without_titles,
)
from gatt.verifiers.text.markup import prose
from gatt.verifiers.text.sentences import sentences
from gatt.verifiers.text.words import SPACELESS, spaceless_characters, word_spans, words

MIN_WORDS = 3
MIN_PIECE_WORDS = 4
WINDOW_WORDS = 8
MAX_LOAN_WORDS = 3
"""Latin words in a row that a text in another script may hold as names and terms."""
MAX_LOAN_SHARE = 3
"""A text in another script with more letters than this for each of its own is no such text."""

SCRIPT_RANGES = {
    "latin": "A-Za-zÀ-ɏḀ-ỿ",
    "greek": "Ͱ-Ͽἀ-῿",
    "cyrillic": "Ѐ-ӿ",
    "han": "\u3400-\u4dbf\u4e00-\u9fff",
    "japanese": "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff々",
    "hangul": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af",
}
SCRIPT = {name: re.compile(f"[{ranges}]") for name, ranges in SCRIPT_RANGES.items()}
"""Name of a script -> one letter of it."""

# German writes every noun with a capital: taking these for names would leave little.
_CAPITALISES_NOUNS = "de"
# Runs first and then what is in them: one pattern for both would try each letter of a run anew.
_RUN = re.compile(rf"[^\s{SPACELESS}]+")
_IN_ADDRESS = re.compile(r"[^\W\d_]\.[a-z]|^/.|[^/]/[^/]+/")  # example.com, /usr, a/b/c
_HIDDEN_FILE = re.compile(r"[\"'“‘«(]*\.\w")  # .gitignore
_ASCII_RUN = re.compile(r"[!-~]+")
_MADE_AS_CODE = re.compile(r"[_\\@#=<>{}\[\]|~^$%\d]")  # name=value, get_url(), [HH:MM]
_WORD_RUN = re.compile(r"\w+")
_CAMEL_CASE = re.compile(r"[a-z][A-Z]")
_ACRONYM = re.compile(r"\b[A-Z]{2,}\b(?:-(?=\w))?")
_LATIN_RUN = re.compile(
    rf"[{SCRIPT_RANGES['latin']}][{SCRIPT_RANGES['latin']}'’.\-]*"
    rf"(?:[ ,]+[{SCRIPT_RANGES['latin']}][{SCRIPT_RANGES['latin']}'’.\-]*)*"
)


def plain_text(reply: str) -> str:
    """Return a reply without code, addresses, emoji, markdown and words made as code is."""
    return _RUN.sub(_without_code, prose(reply))


def telling_text(text: str, code: str, *, is_latin: bool) -> str:
    """Return the part of a reply that tells its language; nothing for code alone.

    Left out: code, addresses, emoji, markdown, words made as code is, acronyms,
    quoted titles, capitalised words inside a sentence (not for German), and, in
    a language of another script, up to `MAX_LOAN_WORDS` Latin words in a row
    that are no English phrase.

    Args:
        text: a reply as `plain_text` leaves it.
        code: the language that is asked for.
        is_latin: whether that one is written in Latin letters.
    """
    if sum(word.isupper() for word in words(text)) * 2 < len(words(text)):
        text = _ACRONYM.sub(" ", text)
    text = _unless_too_little(without_titles(text), text)
    if not is_latin:
        own = _LATIN_RUN.sub(lambda run: " " if _is_loan(run[0]) else run[0], text)
        return own if weight(text) <= MAX_LOAN_SHARE * weight(own) else text
    return text if code == _CAPITALISES_NOUNS else _unless_too_little(without_names(text), text)


def weight(text: str) -> int:
    """Return the letters of a text; a Han or kana character stands for three, Hangul for two."""
    num_hangul = len(SCRIPT["hangul"].findall(text))
    return sum(map(str.isalpha, text)) + 2 * spaceless_characters(text) + num_hangul


def foreign_script_share(text: str, script: str) -> float:
    """Return the share of letters that are not of a script; 1 without letters."""
    own = "".join(SCRIPT[script].findall(text))
    total = weight(text)
    return 1 - weight(own) / total if total else 1.0


def is_connected(text: str) -> bool:
    """Whether a text is more than a list of single words, which are often the same everywhere."""
    lengths = [sum(any(map(str.isalpha, w)) for w in words(part)) for part in clauses(text)]
    return sum(lengths) >= MIN_PIECE_WORDS and max(lengths) >= MIN_WORDS


def pieces(text: str) -> list[tuple[str, bool]]:
    """Return sentences, the long ones in windows (True), the very short ones left out."""
    found = []
    for sentence in sentences(text):
        spans = word_spans(sentence)
        if len(spans) < MIN_PIECE_WORDS:
            continue
        num_windows = max(1, round(len(spans) / WINDOW_WORDS))
        if spaceless_characters(sentence):
            num_windows = 1
        for window in range(num_windows):
            first = window * len(spans) // num_windows
            last = (window + 1) * len(spans) // num_windows - 1
            found.append((sentence[spans[first][0] : spans[last][1]], num_windows > 1))
    return found


def without_names(text: str) -> str:
    """Return the text without capitalised words inside sentences, if much is left then."""
    kept, names = [], []
    end = 0
    spans = word_spans(text)
    for left, right in spans:
        word = text[left:right]
        before = text[end:left].strip(" \t,\"'“”«»()")
        is_inside = end > 0 and not before and "\n" not in text[end:left]
        if is_inside and word[0].isupper() and len(word) > 1 and word[1] not in "'’":
            names.append(word)
            kept.append(text[end:left])
        else:
            kept.append(text[end:right])
        end = right
    kept.append(text[end:])
    return text if 2 * len(names) > len(spans) else "".join(kept)


def _without_code(run: re.Match[str]) -> str:
    """Return what of a run of characters is no address, file or name in a program."""
    if _IN_ADDRESS.search(run[0]) or _HIDDEN_FILE.match(run[0]):
        return " "
    text = _ASCII_RUN.sub(lambda part: " " if _MADE_AS_CODE.search(part[0]) else part[0], run[0])
    return _WORD_RUN.sub(lambda part: " " if _CAMEL_CASE.search(part[0]) else part[0], text)


def _is_loan(run: str) -> bool:
    if len(words(run)) <= MAX_LOAN_WORDS and not num_english_words(run):
        return True
    return has_title_case(run)


def _unless_too_little(less: str, text: str) -> str:
    return less if len(words(less)) >= MIN_WORDS else text
