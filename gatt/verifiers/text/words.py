"""Words of a text: with spaces where a script has them, single characters where not."""

from __future__ import annotations

import re

SPACELESS = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
"""Han and kana, as the inside of a regular expression's character class."""
CJK = SPACELESS + "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
"""The same and Hangul, which has spaces but glues particles to its nouns."""

# Vowel signs of the scripts of South and South-East Asia are no `\w` but belong to the word.
MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0970-\u0fff\u1000-\u1049\u1780-\u17d3"
)
_LETTERS = rf"(?:[^\W_{SPACELESS}]|[{MARKS}])"
_WORD = re.compile(rf"[{SPACELESS}]|{_LETTERS}+(?:['’‘ʼ.\-‐‑&]{_LETTERS}+)*['’]?")
_SPACELESS_CHARACTER = re.compile(rf"[{SPACELESS}]")


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return the span of every word: [start, end) in characters.

    A word may hold apostrophes, hyphens and inner full stops ("don't",
    "well-known", "3.14"). Every Han or kana character is a word of its own.
    """
    return [match.span() for match in _WORD.finditer(text)]


def words(text: str) -> list[str]:
    """Return the words of a text as they are spelt."""
    return _WORD.findall(text)


def spaceless_characters(text: str) -> int:
    """Return how many characters belong to scripts written without spaces."""
    return len(_SPACELESS_CHARACTER.findall(text))
