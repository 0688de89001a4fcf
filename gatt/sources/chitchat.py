"""Human two-person chats, screened: the data of the wheel `chitchat-dataset` (MIT)."""

from __future__ import annotations

import html
import importlib.util
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from gatt.data.dialogue import Dialogue, Message, Role
from gatt.errors import ConfigError, DataError
from gatt.runs.input_file import read_json
from gatt.sources.base import SourceReport
from gatt.sources.config import SourceConfig

PACKAGE = "chitchat_dataset"


def read(
    config: SourceConfig,  # noqa: ARG001 - part of the readers' contract
    report: SourceReport,
) -> Iterator[Dialogue]:
    """Yield the chats between exactly two people that pass the screen.

    A chat is screened as a whole, also what a later cut takes away: which
    chats there are must not depend on `max_turns`.

    `report` gets one reason for every chat that is not yielded.

    Raises:
        ConfigError: the package is not installed.
        DataError: its file is broken.
    """
    file = dataset_path()
    try:
        chats = {key: merge(chat) for key, chat in read_json(file).items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise DataError(
            f"{file}: broken: expected chats with 'messages', lists of objects with 'sender' and 'text': "
            "install chitchat-dataset again"
        ) from None
    for key, runs in chats.items():
        report.num_read += 1
        if len({sender for sender, _ in runs}) != 2:
            report.dropped["not two speakers"] += 1
            continue
        problem = problem_of([text for _, text in runs])
        if problem is not None:
            report.dropped[problem] += 1
            continue
        roles: tuple[Role, Role] = ("user", "assistant")
        messages = tuple(Message(roles[i % 2], text) for i, (_, text) in enumerate(runs))
        yield Dialogue(f"chitchat-{key}", messages)


def dataset_path() -> Path:
    """Return where the installed package keeps its chats.

    Raises:
        ConfigError: it is not installed.
    """
    # Found, not imported: importing it parses the whole file for another purpose.
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ConfigError(
            "source 'chitchat': the package chitchat-dataset is not installed: "
            "pip install chitchat-dataset, or use another source"
        )
    return Path(spec.origin).with_name("dataset.json")


def merge(chat: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return `(sender, text)` runs: neighbouring messages of one sender become one.

    A new line keeps the border between two messages; a full stop put there
    would be text that nobody wrote.
    """
    runs: list[tuple[str, str]] = []
    for group in chat["messages"]:
        for message in group:
            text, sender = normalise(message["text"]), message["sender"]
            if not text:
                continue
            if runs and runs[-1][0] == sender:
                runs[-1] = (sender, f"{runs[-1][1]}\n{text}")
            else:
                runs.append((sender, text))
    return runs


def normalise(text: str) -> str:
    """Return one message without entities, tags, emoji shortcodes and odd white space."""
    text = unicodedata.normalize("NFC", html.unescape(text))
    text = re.sub(r"</?[a-z]+\s*/?>|:[a-z]+(?:_[a-z]+)*:", " ", text)
    text = re.sub(r"(?m)^\s*>+", " ", text)
    if text.isascii():
        return " ".join(text.split())
    text = "".join(" " if unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"} else c for c in text)
    return " ".join(text.split())


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

    Its messages are normalised; none of them is empty.
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
    num_common = sum(w in common for w in words)
    # A whole sentence without one function word is another language in an English chat.
    is_mixed = any(
        len(ws) >= 8 and len(set(ws)) >= 6 and only_english.isdisjoint(ws) for ws in words_of
    )
    return (
        bool(words)
        and foreign <= MAX_FOREIGN_LETTER_SHARE * num_letters
        and num_common >= MIN_ENGLISH_SHARE * len(words)
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
    patterns: dict[str, str] = yaml.safe_load(_text("personal_data.yaml"))
    return tuple(re.compile("".join(pattern.splitlines())) for pattern in patterns.values())


def _text(name: str) -> str:
    return resources.files("gatt.sources").joinpath("data", name).read_text(encoding="utf-8")


def _lines(name: str) -> Iterator[str]:
    for line in _text(name).splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.strip()
