"""Screening of human chat: what a dialogue must not contain to be put before users."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources

import yaml

MAX_WORDS = 120
"""A longer message is a pasted text or an essay, not chat."""
MAX_ONE_WORD_SHARE = 0.35
"""Most messages of a single word, as a share."""
MIN_ENGLISH_SHARE = 0.3
"""Least share of words that are common English function words."""
MAX_FOREIGN_LETTER_SHARE = 0.02
"""Most letters outside ASCII, as a share."""
SHARED_WORDS = frozenset({"a", "as", "do", "he", "me", "no", "so", "u"})
"""English function words that other languages have as well: no sign of English alone."""


def problem_of(messages: Sequence[str]) -> str | None:
    """Return the first reason why a dialogue is dropped, or None for a clean one.

    Args:
        messages: all its messages, normalised; none of them empty.
    """
    if any(len(m.split()) > MAX_WORDS for m in messages):
        return "message too long"
    text = "\n".join(messages)
    if _has_blocked_word(text):
        return "blocked word"
    if any(pattern.search(text) for pattern in _personal_data()):
        return "personal data"
    if not _is_english(messages):
        return "not English"
    one_word = sum(len(m.split()) == 1 for m in messages)
    return "mostly one-word messages" if one_word > MAX_ONE_WORD_SHARE * len(messages) else None


def _is_english(messages: Sequence[str]) -> bool:
    common = _english_words()
    only_english = common - SHARED_WORDS
    letters = "".join(messages)
    num_letters = sum(map(str.isalpha, letters))
    foreign = 0 if letters.isascii() else sum(c.isalpha() and not c.isascii() for c in letters)
    words_of = [_words(m) for m in messages]
    words = [w for ws in words_of for w in ws]
    known = sum(w in common for w in words)
    # A whole sentence without one function word is another language in an English chat.
    is_mixed = any(
        len(ws) >= 8 and len(set(ws)) >= 6 and only_english.isdisjoint(ws) for ws in words_of
    )
    return (
        bool(words)
        and foreign <= MAX_FOREIGN_LETTER_SHARE * num_letters
        and known >= MIN_ENGLISH_SHARE * len(words)
        and not is_mixed
    )


def _words(message: str) -> list[str]:
    return re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", message.lower().replace("\u2019", "'"))


def _has_blocked_word(text: str) -> bool:
    words, stems, phrases = _blocked_words()
    tokens = re.findall(r"\w+", text.lower())
    if any(token in words or token.startswith(stems) for token in tokens):
        return True
    joined = f" {' '.join(tokens)} "
    return any(f" {phrase} " in joined for phrase in phrases)


@cache
def _blocked_words() -> tuple[frozenset[str], tuple[str, ...], tuple[str, ...]]:
    """Return words, beginnings of words and phrases, so that most words cost one look-up."""
    entries = [" ".join(re.findall(r"[\w*]+", entry)) for entry in _lines("blocked_words.txt")]
    return (
        frozenset(e for e in entries if " " not in e and not e.endswith("*")),
        tuple(e[:-1] for e in entries if e.endswith("*")),
        tuple(e for e in entries if " " in e),
    )


@cache
def _english_words() -> frozenset[str]:
    return frozenset(word for line in _lines("english_words.txt") for word in line.split())


@cache
def _personal_data() -> tuple[re.Pattern[str], ...]:
    found: dict[str, str] = yaml.safe_load(_text("personal_data.yaml"))
    return tuple(re.compile("".join(pattern.splitlines())) for pattern in found.values())


def _text(name: str) -> str:
    return resources.files("gatt.sources").joinpath("data", name).read_text(encoding="utf-8")


def _lines(name: str) -> Iterator[str]:
    for line in _text(name).splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.strip()
