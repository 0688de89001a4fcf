"""Folding: text without case, accents and markdown emphasis, with the way back.

Matching happens on the folded text, evidence is shown in the reply: every folded
character knows the place that it came from.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

# Letters that Unicode does not decompose, with what people type instead.
_PLAIN = str.maketrans({
    "ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i",
    "’": "'", "‘": "'", "ʼ": "'", "´": "'", "‐": "-", "‑": "-", "–": "-", "—": "-",
    "“": '"', "”": '"', "„": '"', "«": '"', "»": '"',
})  # fmt: skip
_EMPHASIS = frozenset("*~`")
_SYLLABLES = ((0x1100, 0x11FF), (0x3040, 0x30FF), (0xAC00, 0xD7AF))


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text and where each of its characters stands in the original."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in the original of a non-empty span in the folded text."""
        return self.starts[start], self.ends[end - 1]


@lru_cache(maxsize=256)
def fold(text: str) -> Folded:
    """Return a text without case, accents, emphasis marks and invisible characters.

    An underscore inside a word becomes a space, at its edge it is emphasis.
    Kana and Hangul keep their marks: there these are no accents.
    """
    if text.isascii() and _EMPHASIS.isdisjoint(text) and "_" not in text:
        return Folded(text.lower(), range(len(text)), range(1, len(text) + 1))
    folded: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    position, length = 0, len(text)
    while position < length:
        end = position + 1
        while end < length and not text[end].isascii() and _continues(text[end]):
            end += 1
        if text[position] == "_":
            is_inner = (
                text[:position][-1:].isalnum() and text[position + 1 : position + 2].isalnum()
            )
            piece = " " if is_inner else ""
        else:
            piece = _fold_cluster(text[position:end])
        for character in piece:
            folded.append(character)
            starts.append(position)
            ends.append(end)
        position = end
    return Folded("".join(folded), tuple(starts), tuple(ends))


def fold_text(text: str) -> str:
    """Return only the folded text."""
    return fold(text).text


@lru_cache(maxsize=4096)
def _continues(character: str) -> bool:
    return unicodedata.combining(character) != 0 or 0x1160 <= ord(character) <= 0x11FF


@lru_cache(maxsize=8192)
def _fold_cluster(cluster: str) -> str:
    if cluster in _EMPHASIS:
        return ""
    cluster = unicodedata.normalize("NFKC", cluster)
    if not any(low <= ord(c) <= high for c in cluster for low, high in _SYLLABLES):
        decomposed = unicodedata.normalize("NFKD", cluster.casefold())
        cluster = "".join(c for c in decomposed if unicodedata.category(c) not in ("Mn", "Cf"))
    return cluster.translate(_PLAIN)
