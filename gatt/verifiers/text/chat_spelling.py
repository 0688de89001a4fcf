"""Words as people type them in a chat, spelt out: "whats ur order nr" is "what's your order number"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from gatt.verifiers.phrases import read_phrases

_SHORT: dict[str, str] = read_phrases("english")["short"]
_SHORT_WORD = re.compile(rf"(?<![\w'])(?:{'|'.join(_SHORT)})(?![\w'])")
_NUMBER = re.compile(r"(?<=\w) no\.(?=[\s,?!)]|$)|(?<=\w) #(?!\w)")
_WORD = re.compile(r"[a-z]{7,}")
# A letter more or less at the end is another form of a word more often than a slip.
_KEPT_END = 2


def spelt_out(folded: str) -> str:
    """Return a folded text with the short forms of chats written out."""
    return _NUMBER.sub(" number", _SHORT_WORD.sub(lambda m: _SHORT[m[0]], folded))


def with_typos_mended(folded: str, terms: Iterable[str]) -> str:
    """Return a folded text whose long words that miss one of the terms by one slip are that term.

    One letter left out, doubled, exchanged or swapped with the next counts as a slip. First letter and
    ending have to be right, as other words are a slip apart ("adviser", "advised").
    """
    known = _long_words(tuple(terms))
    return _WORD.sub(lambda m: m[0] if m[0] in known else next(
        (word for word in known if _is_slip(m[0], word)), m[0]), folded)  # fmt: skip


@lru_cache(maxsize=512)
def _long_words(terms: tuple[str, ...]) -> dict[str, None]:
    return dict.fromkeys(word for term in terms for word in _WORD.findall(term.lower()))


def _is_slip(typed: str, word: str) -> bool:
    if (
        typed[0] != word[0]
        or typed[-_KEPT_END:] != word[-_KEPT_END:]
        or abs(len(typed) - len(word)) > 1
    ):
        return False
    same = next(
        (n for n, (a, b) in enumerate(zip(typed, word, strict=False)) if a != b), len(typed)
    )
    rest_typed, rest_word = typed[same:], word[same:]
    return (
        rest_typed[1:] == rest_word[1:]
        or rest_typed == rest_word[1:]
        or rest_typed[1:] == rest_word
        or (rest_typed[:2] == rest_word[:2][::-1] and rest_typed[2:] == rest_word[2:])
    )
