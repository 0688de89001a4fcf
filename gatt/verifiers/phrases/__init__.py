"""Words and phrases that the rules look for: one YAML file for each matter.

A list of words is one text, the words between white space. A pattern is a regular expression, each line one
of its alternatives (short ones share a line); a line that is indented deeper goes on with the line above it,
and `{NAME}` stands for another pattern of the file.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

_FOLDER: Final = Path(__file__).parent
_GOES_ON: Final = re.compile(r"\n +")
_NAME: Final = re.compile(r"\{([A-Z][A-Z_]*)\}")


@cache
def read_phrases(name: str) -> dict[str, Any]:
    """Return what a file of this folder holds; the name is without its ending."""
    text = (_FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    phrases: dict[str, Any] = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return phrases


def word_set(name: str, key: str) -> frozenset[str]:
    """Return the words of a list of a file."""
    return frozenset(read_phrases(name)[key].split())


class WordLists:
    """The word lists of a file as attributes, each a frozen set made at its first use."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, key: str) -> frozenset[str]:
        words = word_set(self._name, key)
        setattr(self, key, words)
        return words


class Patterns:
    """The patterns of a file as attributes, each compiled at its first use."""

    def __init__(self, name: str) -> None:
        self._texts = read_phrases(name)

    def __getattr__(self, name: str) -> re.Pattern[str]:
        pattern = re.compile(self.text(name))
        setattr(self, name, pattern)
        return pattern

    def text(self, name: str, **others: str) -> str:
        """Return a pattern as text, without a group around it; `others` stand for `{NAME}` as well."""
        pattern = others[name] if name in others else self._texts[name]
        lines = _GOES_ON.sub("", pattern.strip("\n")).split("\n")
        return _NAME.sub(lambda m: f"(?:{self.text(m[1], **others)})", "|".join(lines))
