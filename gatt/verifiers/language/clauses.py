"""Clauses of a reply, and the words that give English away inside another language."""

from __future__ import annotations

import re

from gatt.verifiers.phrases import word_set
from gatt.verifiers.text.words import words

MAX_TITLE_WORDS = 6
MIN_CONTENT_LETTERS = 4

_BOUNDARY = re.compile(r"[,;:.!?…\"“”„«»()\[\]\n—–，。！？、；：「」]+|\s-\s")
_QUOTATION = re.compile(
    r"\"([^\"\n]*)\"|[“„]([^„“”\n]*)[“”]|«([^«»\n]*)»|「([^「」\n]*)」|『([^『』\n]*)』"
)
_ENGLISH = word_set("languages", "only_english")
# "I" alone may be the Danish "you" or an Italian article.
_ENGLISH_I = re.compile(
    r"\bI (?:am|was|have|had|do|did|can|could|will|would|love|like|think|know|hope|want|need|feel|"
    r"bet|see|enjoy|really|also|just)\b"
)


def clauses(text: str) -> list[str]:
    """Return the parts of a text between its marks, quotations apart from what is around them."""
    return [part.strip() for part in _BOUNDARY.split(text) if part and words(part)]


def num_english_words(clause: str) -> int:
    """Return how many words of a clause are English and no other language's function words."""
    plain = clause.replace("’", "'")
    return sum(word.lower() in _ENGLISH for word in words(plain)) + 2 * len(
        _ENGLISH_I.findall(plain)
    )


def without_titles(text: str) -> str:
    """Return the text without quoted titles, which stay in the language of the work.

    A title has at most `MAX_TITLE_WORDS` words, and a capital on every word of
    `MIN_CONTENT_LETTERS` letters or more.
    """
    return _QUOTATION.sub(lambda match: " " if has_title_case(match[0]) else match[0], text)


def without_quotations(text: str) -> str:
    """Return the text without what it quotes, or as it is where that is most of it."""
    rest = _QUOTATION.sub(" ", text)
    return rest if 2 * sum(map(str.isalpha, rest)) >= sum(map(str.isalpha, text)) else text


def has_title_case(quotation: str) -> bool:
    """Whether a short text has a capital on every longer word, as "Game of Thrones" has."""
    found = words(quotation)
    content = [word for word in found if len(word) >= MIN_CONTENT_LETTERS]
    return len(found) <= MAX_TITLE_WORDS and bool(content) and all(w[0].isupper() for w in content)
