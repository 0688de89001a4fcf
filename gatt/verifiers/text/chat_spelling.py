"""Words as people type them in a chat, spelt out: "whats ur order nr" is "what's your order number"."""

from __future__ import annotations

import re
from functools import lru_cache

from gatt.verifiers.phrases import read_phrases
from gatt.verifiers.text.folding import fold_text

_SHORT: dict[str, str] = read_phrases("english")["short"]
_SHORT_WORD = re.compile(rf"(?<![\w'])(?:{'|'.join(_SHORT)})(?![\w'])")
_NUMBER = re.compile(r"(?<=\w) no\.(?=[\s,?!)]|$)|(?<=\w) #(?!\w)")
_WORD = re.compile(r"[a-z]{7,}")
# A letter more or less at the end is another form of a word more often than a slip.
_KEPT_END = 2


def as_meant(sentence: str, terms: tuple[str, ...]) -> str:
    """Return a sentence folded, with the short forms of chats written out and slips in terms mended.

    A long word that misses a word of the terms by one slip is that word: one letter left out, doubled,
    exchanged or swapped with the next. First letter and ending have to be right, as other words are a
    slip apart ("adviser", "advised").
    """
    folded = _SHORT_WORD.sub(lambda m: _SHORT[m[0]], fold_text(sentence))
    known = _long_words(terms)
    return _WORD.sub(lambda m: m[0] if m[0] in known else next(
        (word for word in known if _is_slip(m[0], word)), m[0]), _NUMBER.sub(" number", folded))  # fmt: skip


@lru_cache(maxsize=512)
def _long_words(terms: tuple[str, ...]) -> dict[str, None]:
    return dict.fromkeys(word for term in terms for word in _WORD.findall(term.lower()))


def _is_slip(typed: str, word: str) -> bool:
    if typed[0] != word[0] or typed[-_KEPT_END:] != word[-_KEPT_END:]:
        return False
    same = next(n for n in range(len(typed) + 1) if typed[: n + 1] != word[: n + 1])
    left, right = typed[same:], word[same:]
    is_swap = left[:2] == right[:2][::-1] and left[2:] == right[2:]
    return is_swap or left[1:] == right[1:] or left == right[1:] or left[1:] == right
