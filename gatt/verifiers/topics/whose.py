"""Whose a thing is that a sentence names: the speaker's, another's, everybody's or nobody's.

"I play tennis" and "Tennis keeps me fit" are the speaker's, "You must love tennis" and "My sister
plays tennis" another's, "Tennis is known to reduce stress" says something of tennis in general,
and "Tennis!" names nobody. English only.
"""

from __future__ import annotations

import re
from typing import Literal

from gatt.verifiers.phrases import Patterns

_RE = Patterns("whose")

Whose = Literal["speaker", "other", "general", "nobody"]


def whose(sentence: str, start: int, end: int) -> Whose:
    """Return whose the words from `start` to `end` are in a folded sentence.

    The nearest person before them in their clause decides, else the first behind them, else
    any in the sentence.
    """
    plain = _RE.ASIDE.sub(_blank, sentence)
    left = max((found.end() for found in _RE.CLAUSE_END.finditer(plain, 0, start)), default=0)
    behind = _RE.CLAUSE_END.search(plain, end)
    right = behind.start() if behind else len(plain)
    if _RE.WITH_ME.search(plain, left, right):
        return "speaker"
    offered = _RE.OFFERS.search(plain, 0, start)
    if offered and "speaker" not in _persons(plain, offered.start(1), start):
        return "other"
    if before := _persons(plain, left, start):
        return before[-1]
    if after := _persons(plain, end, right):
        return after[0]
    is_subject, is_general = _RE.GENERAL_AFTER.match(plain[end:]), _RE.GENERAL.search(plain)
    anywhere = _persons(plain, 0, len(plain))
    if anywhere and not (is_subject and is_general):
        return "speaker" if "speaker" in anywhere else "other"
    return "general" if is_subject or is_general else "nobody"


def speaks_of_oneself(sentence: str) -> bool:
    """Whether a folded sentence says something of its speaker, beyond "I hope" and "I see"."""
    return "speaker" in _persons(_RE.ASIDE.sub(_blank, sentence), 0, len(sentence))


def _blank(aside: re.Match[str]) -> str:
    """Return as many characters without a person; of "my sister" the sister stays."""
    text = aside[0]
    if _RE.KIN_MARK.search(text):
        return " " * text.rindex(" ") + text[text.rindex(" ") :]
    return " " * len(text)


def _persons(text: str, start: int, end: int) -> list[Whose]:
    found: list[Whose] = []
    for mark in _RE.MARK.finditer(text, start, end):
        if mark["first"]:
            found.append("speaker")
        elif "speaker" in found and (
            mark["noun"] or _RE.OBJECT_YOU.search(text, start, mark.end())
        ):
            continue
        elif not (mark["noun"] and _RE.BESIDE.search(text, start, mark.start())):
            found.append("other")
    return found
