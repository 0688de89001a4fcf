"""Sentences of a reply, with the traps: abbreviations, initials, ellipses, quotes, lists."""

from __future__ import annotations

import re

from gatt.verifiers.words import SPACELESS

# Never the end of a sentence.
_TITLES = frozenset({
    "dr", "mr", "mrs", "ms", "mx", "prof", "st", "vs", "fig", "approx", "mt", "ft", "cf", "gen",
    "col", "capt", "sgt", "lt", "rev", "hon", "gov", "sen", "rep", "ca", "e.g", "i.e",
    "al", "viz", "nr", "bzw", "z.b", "d.h", "mme", "mlle", "sra", "dra", "m.me",
})  # fmt: skip
# The end of one only where the next word looks like the start of another.
_MAYBE_END = frozenset({
    "etc", "inc", "ltd", "co", "corp", "jr", "sr", "a.m", "p.m", "b.c", "a.d", "ph.d", "usw", "no",
    "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
})  # fmt: skip
_STARTERS = frozenset({
    "i", "i'm", "it", "it's", "the", "he", "she", "we", "you", "they", "this", "that", "these",
    "those", "there", "but", "and", "so", "in", "at", "on", "my", "our", "your", "what", "when",
    "where", "who", "how", "why", "is", "are", "do", "did", "have", "would", "if", "then", "a",
    "an", "no", "yes", "its", "his", "her", "their", "for", "to", "as",
})  # fmt: skip

_CLOSERS = "\"'”’»)\\]*_~`"
_END = re.compile(
    rf"(?P<stop>[.!?…]+)(?P<close>[{_CLOSERS}]*)(?=\s|$)"
    rf"|(?P<wide>[。！？｡]+)[」』”’）)\"']*"
    rf"|(?P<stuck>[!?]+)(?=[{SPACELESS}])"
    r"|(?P<block>\n[ \t]*\n|\n(?=[ \t]*(?:[-*•+–]|\d{1,3}[.)]|\#{1,6})[ \t]))"
)
_NEXT_WORD = re.compile(r"[\s\"'“‘«(\[*_~`¿¡-]*(?P<word>[^\W_][\w'’]*)?")
_LAST_TOKEN = re.compile(r"\S+$")
_LIST_NUMBER = re.compile(r"(?:^|\n)[ \t>*_]*\d{1,3}$")
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_HAS_WORD = re.compile(r"[^\W_]")
_LOOKBACK = 24


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the span of every sentence: [start, end) without outer white space.

    A blank line and a list item end a sentence too, with or without a full
    stop. Pieces without a letter or digit (an emoji, a dash) are none.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
        if match["stop"] and not _ends_sentence(text, match):
            continue
        end = match.start() if match["block"] else match.end()
        start = _append(spans, text, start, end)
    _append(spans, text, start, len(text))
    return spans


def sentences(text: str) -> list[str]:
    """Return the sentences of a text."""
    return [text[start:end] for start, end in sentence_spans(text)]


def _append(spans: list[tuple[int, int]], text: str, start: int, end: int) -> int:
    """Add a piece to the spans if it has a word; return where the next one starts."""
    piece = text[start:end]
    if not _HAS_WORD.search(piece):
        return end
    left = start + len(piece) - len(piece.lstrip())
    spans.append((left, start + len(piece.rstrip())))
    return end


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    found = _NEXT_WORD.match(text, match.end())
    word = (found["word"] or "") if found else ""
    if not word:
        return True
    stop = match["stop"]
    is_ellipsis = "…" in stop or stop.startswith("..")
    # "Well... I think" and "Stop!" he said: the sentence goes on.
    if is_ellipsis and (word[0].islower() or word.split("'")[0] == "I"):
        return False
    if match["close"].strip("*_~`") and word[0].islower():
        return False
    return stop != "." or not _is_abbreviation(text, match.start(), word)


def _is_abbreviation(text: str, stop: int, next_word: str) -> bool:
    before = text[max(0, stop - _LOOKBACK) : stop]
    if _LIST_NUMBER.search(before):
        return True
    found = _LAST_TOKEN.search(before)
    token = found[0].lstrip("\"'“‘«([*_").lower() if found else ""
    if token in _TITLES:
        return True
    starts_anew = next_word.lower().replace("’", "'") in _STARTERS and next_word[0].isupper()
    if token in _MAYBE_END:
        follows_number = next_word[0].isdigit()
        return follows_number or (token != "no" and next_word[0].islower())
    if _DOTTED.fullmatch(token):
        return not starts_anew
    # Initials: "J. K. Rowling", but "It was I. Then" ends.
    return len(token) == 1 and token.isalpha() and token != "i" and not starts_anew
