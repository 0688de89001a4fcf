"""Screening of human chat: what a dialogue must not contain to be put before users."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml

SHARED_WORDS = frozenset({"a", "as", "do", "he", "me", "no", "so", "u"})
"""English function words that other languages have as well: no sign of English alone."""


@dataclass(frozen=True, kw_only=True)
class Screen:
    """Rules for human chat; the first one broken names the reason."""

    max_words: int = 120
    """A longer message is a pasted text or an essay, not chat."""
    max_one_word_share: float = 0.35
    """Most messages of a single word, as a share."""
    min_english_share: float = 0.3
    """Least share of words that are common English function words."""
    max_foreign_letter_share: float = 0.02
    """Most letters outside ASCII, as a share."""

    def problem(self, messages: Sequence[str]) -> str | None:
        """Return why a dialogue is dropped, or None for a clean one.

        Args:
            messages: all its messages, normalised; none of them empty.
        """
        if any(len(m.split()) > self.max_words for m in messages):
            return "message too long"
        text = "\n".join(messages)
        if blocked_words().find(text) is not None:
            return "blocked word"
        if any(pattern.search(text) for pattern in personal_data()):
            return "personal data"
        if not self._is_english(messages):
            return "not English"
        one_word = sum(len(m.split()) == 1 for m in messages)
        if one_word > self.max_one_word_share * len(messages):
            return "mostly one-word messages"
        return None

    def _is_english(self, messages: Sequence[str]) -> bool:
        common = english_words()
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
            and foreign <= self.max_foreign_letter_share * num_letters
            and known >= self.min_english_share * len(words)
            and not is_mixed
        )


def _words(message: str) -> list[str]:
    return re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", message.lower().replace("\u2019", "'"))


@dataclass(frozen=True)
class BlockedWords:
    """The entries of `data/blocked_words.txt`, parted so that most words cost one look-up."""

    words: frozenset[str]
    stems: tuple[str, ...]
    phrases: tuple[str, ...]

    def find(self, text: str) -> str | None:
        """Return the first blocked word or phrase of a text, or None."""
        tokens = re.findall(r"\w+", text.lower())
        for token in tokens:
            if token in self.words or token.startswith(self.stems):
                return str(token)
        joined = f" {' '.join(tokens)} "
        return next((p for p in self.phrases if f" {p} " in joined), None)


@cache
def blocked_words() -> BlockedWords:
    """Return the entries of `data/blocked_words.txt`."""
    entries = [" ".join(re.findall(r"[\w*]+", entry)) for entry in _lines("blocked_words.txt")]
    return BlockedWords(
        words=frozenset(e for e in entries if " " not in e and not e.endswith("*")),
        stems=tuple(e[:-1] for e in entries if e.endswith("*")),
        phrases=tuple(e for e in entries if " " in e),
    )


@cache
def english_words() -> frozenset[str]:
    """Return the words of `data/english_words.txt`."""
    return frozenset(word for line in _lines("english_words.txt") for word in line.split())


@cache
def personal_data() -> tuple[re.Pattern[str], ...]:
    """Return the patterns of `data/personal_data.yaml`."""
    found: dict[str, str] = yaml.safe_load(_text("personal_data.yaml"))
    return tuple(re.compile("".join(pattern.splitlines())) for pattern in found.values())


def _text(name: str) -> str:
    return resources.files("gatt.sources").joinpath("data", name).read_text(encoding="utf-8")


def _lines(name: str) -> Iterator[str]:
    for line in _text(name).splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.strip()
