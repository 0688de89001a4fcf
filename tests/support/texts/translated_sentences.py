"""Sentences with a known language: what Django's own translation catalogues say.

Each message of a `.mo` file stands under the code of its translator. What is left out is left
out by rule, before any verdict: what is spelt as the English message is (not translated), what
two languages both say (it has no one label), and what no verifier judges (`degenerate`, such as
the Italian "milione di miliardi di miliardi di miliardi").
"""

from __future__ import annotations

import gettext
import hashlib
import html
import re
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from gatt.verifiers.text.degenerate import degenerate

Half = Literal["development", "test"]

CATALOGUES = {
    "fr": ["fr"], "es": ["es"], "de": ["de"], "it": ["it"], "pt": ["pt", "pt_BR"], "nl": ["nl"],
    "sv": ["sv"], "da": ["da"], "nb": ["nb"], "fi": ["fi"], "pl": ["pl"], "cs": ["cs"],
    "ro": ["ro"], "hu": ["hu"], "tr": ["tr"], "el": ["el"], "ru": ["ru"], "zh": ["zh_Hans"],
    "ja": ["ja"], "ko": ["ko"],
}  # fmt: skip
"""ISO 639-1 code -> folders of Django's `locale`."""
MIN_WORDS = 5
MIN_CHARACTERS = {"zh": 8, "ja": 15}
"""What stands for five words without spaces: Django's five-word messages have a median of 8
Chinese and 15 Japanese characters."""

_PLACEHOLDER = re.compile(
    r"%\([^)]*\)[#0\- +]*\d*(?:\.\d+)?[a-zA-Z]|%[sdrifgx%]|\{[^{}]*\}|<[^<>]*>"
)
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？])|\n+")
_SPACELESS = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")


def half_of(sentence: str) -> Half:
    """Return which half a sentence is in; nothing but its letters decides."""
    is_odd = hashlib.sha256(sentence.encode()).digest()[0] % 2
    return "test" if is_odd else "development"


@lru_cache(maxsize=1)
def translated_sentences() -> dict[str, list[str]]:
    """Return the sentences of each language of the catalogue and, under "en", of the messages."""
    english: set[str] = set()
    owners: dict[str, set[str]] = {}
    for code, folders in CATALOGUES.items():
        for message, translation in _messages(folders):
            english.update(_sentences(message))
            for sentence in _sentences(translation):
                owners.setdefault(sentence, set()).add(code)
    found: dict[str, list[str]] = {code: [] for code in (*CATALOGUES, "en")}
    for sentence, codes in owners.items():
        if len(codes) == 1 and sentence not in english:
            (code,) = codes
            found[code].append(sentence)
    found["en"] = sorted(english)
    return {
        code: [s for s in listed if _is_long(s, code) and not degenerate(s)]
        for code, listed in found.items()
    }


def _messages(folders: list[str]) -> list[tuple[str, str]]:
    root = find_spec("django")
    assert root is not None
    assert root.origin is not None
    pairs = []
    for folder in folders:
        for path in sorted(Path(root.origin).parent.rglob(f"locale/{folder}/LC_MESSAGES/*.mo")):
            with path.open("rb") as file:
                read = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
            for key, translation in read.items():
                message = key[0] if isinstance(key, tuple) else key
                if message:
                    # A context stands before the message.
                    pairs.append((message.rpartition("\x04")[2], translation))
    return pairs


def _sentences(text: str) -> list[str]:
    plain = html.unescape(_PLACEHOLDER.sub(" ", text))
    return [" ".join(part.split()) for part in _SENTENCE_END.split(plain) if part.strip()]


def _is_long(sentence: str, code: str) -> bool:
    if code in MIN_CHARACTERS:
        return len(_SPACELESS.findall(sentence)) >= MIN_CHARACTERS[code]
    return sum(any(c.isalpha() for c in word) for word in sentence.split()) >= MIN_WORDS
