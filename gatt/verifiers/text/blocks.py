"""Blocks of a reply: what blank lines or a divider part."""

from __future__ import annotations

import re

Span = tuple[int, int]

_BLANK_LINES = re.compile(r"\r?\n[ \t]*(?:\r?\n[ \t]*)+")
_HAS_WORD = re.compile(r"[^\W_]")


def has_word(text: str) -> bool:
    """Whether a text holds a letter or digit."""
    return bool(_HAS_WORD.search(text))


def paragraph_spans(text: str) -> list[Span]:
    """Return the spans of the paragraphs: what blank lines part and holds a letter or digit."""
    return [span for span in _split(text, _BLANK_LINES) if has_word(text[slice(*span)])]


def divided_spans(text: str, divider: str) -> list[Span]:
    """Return the spans of what a divider parts ("***").

    The divider counts between white space only: "***so***" has none. Before the
    first and behind the last one there may be nothing, and then nothing is
    returned for it; what is empty between two dividers is.
    """
    spans = _split(text, re.compile(rf"(?<!\S){re.escape(divider)}(?!\S)"))
    for outer in (0, -1):
        if spans and not has_word(text[slice(*spans[outer])]):
            del spans[outer]
    return spans


def _split(text: str, regex: re.Pattern[str]) -> list[Span]:
    """Return the spans between the matches, without outer white space."""
    edges = [0, *(edge for match in regex.finditer(text) for edge in match.span()), len(text)]
    spans = []
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        piece = text[start:end]
        left = min(end, start + len(piece) - len(piece.lstrip()))
        spans.append((left, left + len(piece.strip())))
    return spans
