"""Repetition: words, phrases and characters that come again more than speech needs.

Loops (a phrase said again and again in one place) and n-grams that return anywhere
are told apart: emphasis ("No, no, no!"), lists, verses and code are neither.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence

from gatt.verifiers.words import SPACELESS, words

WINDOW_WORDS = 50
MIN_WINDOW_WORDS = 16
MIN_DISTINCT_SHARE = 0.3
MAX_LOOP_WORDS = 20
MOST_EMPHATIC_WORDS = 3
"""Times that a short word may be a whole reply: "No, no, no!"."""
MAX_EMPHATIC_LETTERS = 5
MAX_EMPHATIC_CHARACTERS = 4
"""Han or kana in a phrase that counts as one word ("はい", "いいえ")."""

WORDS_PER_GRAM = 3
"""Long enough that "I like" and "and the" may come as often as they do."""
HAN_PER_GRAM = 5
LETTERS_PER_GRAM = 10
"""For scripts whose words are neither spaced nor told apart here: Thai, Lao, Khmer, Burmese."""
MIN_GRAMS = 5

_SOUTH_EAST = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_UNSPACED = re.compile(rf"[{_SOUTH_EAST}]")
_HAN_OR_KANA = re.compile(rf"[{SPACELESS}]+")
_BETWEEN = re.compile(rf"(?![{_SOUTH_EAST}])[\W_]+")
_CHARACTER_LOOP = re.compile(r"(.{4,40}?)\1{2,}", re.DOTALL)
_MIN_LOOP_CHARACTERS = 20
_MIN_LOOP_SHARE = 0.6
_ITEM = re.compile(r"\s*(?:[-*•+–]|\d{1,3}[.)]|[^\s:：][^:：]{0,40}[:：](?:\s|$))")
_MIN_ITEMS = 3


def find_loop(text: str) -> str | None:
    """Return what a text says over and over in one place, as a phrase for a reader, or None.

    Also for one word alone and for too few distinct words in a stretch of text.
    """
    spelt = [word.casefold() for word in words(text)]
    if len(spelt) >= MOST_EMPHATIC_WORDS and len(set(spelt)) == 1:
        return _one_word(spelt)
    loop = _word_loop(spelt)
    if loop:
        return f"loop: {loop[0]!r} repeated {loop[1]} times"
    squeezed = _BETWEEN.sub("", text.casefold())
    run = _CHARACTER_LOOP.search(squeezed) if len(squeezed) >= _MIN_LOOP_CHARACTERS else None
    if run and len(run[0]) >= _MIN_LOOP_SHARE * len(squeezed):
        return f"loop: {run[1]!r} repeated {len(run[0]) // len(run[1])} times"
    return _few_words(spelt)


def repeated_share(text: str) -> float:
    """Return the share of n-grams that stood in the text before, from 0 to 1.

    Three words make an n-gram, or several characters where a script has no
    spaces. Of lists, tables, code and JSON only whole lines count: their items
    are alike by nature. Texts too short to tell give 0.
    """
    stripped = (line.strip() for line in text.splitlines())
    lines = [line for line in stripped if line and not line.startswith("```")]
    if _is_structured(text, lines):
        return _share_seen_before(lines) if len(lines) > _MIN_ITEMS else 0.0
    grams = _grams(text)
    return _share_seen_before(grams) if len(grams) >= MIN_GRAMS else 0.0


def _one_word(spelt: Sequence[str]) -> str | None:
    word, count = spelt[0], len(spelt)
    is_han = bool(_HAN_OR_KANA.fullmatch(word))
    most = 2 * MOST_EMPHATIC_WORDS if is_han else MOST_EMPHATIC_WORDS
    if count <= most and len(word) <= MAX_EMPHATIC_LETTERS:
        return None
    return f"one word repeated: {word!r}, {count} times"


def _word_loop(spelt: Sequence[str]) -> tuple[str, int] | None:
    """Return the phrase that is said over and over, and how often, if there is one."""
    total = len(spelt)
    if len(set(spelt)) == total:
        return None
    for period in range(1, min(MAX_LOOP_WORDS, total // 2) + 1):
        matched = longest = end = 0
        for index in range(period, total):
            matched = matched + 1 if spelt[index] == spelt[index - period] else 0
            if matched > longest:
                longest, end = matched, index + 1
        count = longest // period + 1
        covered = (longest + period) / total
        phrase = spelt[end - period : end]
        if count > 1 and _is_loop(phrase, count, covered):
            return " ".join(phrase), count
    return None


def _is_loop(phrase: Sequence[str], count: int, covered: float) -> bool:
    """Whether `count` repeats in a row of a phrase are more than emphasis."""
    period = len(phrase)
    is_word = period == 1 or (
        period <= MAX_EMPHATIC_CHARACTERS and bool(_HAN_OR_KANA.fullmatch("".join(phrase)))
    )
    if is_word:
        return count >= 7 or (count >= 4 and covered >= 0.7)
    if count >= 5 or (count >= 3 and covered >= 0.6):
        return True
    return count == 2 and period >= 4 and covered >= 0.95


def _few_words(spelt: Sequence[str]) -> str | None:
    if len(spelt) < MIN_WINDOW_WORDS:
        return None
    for start in range(0, max(1, len(spelt) - WINDOW_WORDS // 2), WINDOW_WORDS // 2):
        window = spelt[start : start + WINDOW_WORDS]
        distinct = len(set(window))
        if len(window) >= MIN_WINDOW_WORDS and distinct < MIN_DISTINCT_SHARE * len(window):
            return f"only {distinct} distinct words among {len(window)}"
    return None


def _is_structured(text: str, lines: Sequence[str]) -> bool:
    if "```" in text or text.lstrip()[:1] in ("{", "["):
        return True
    return len(lines) >= _MIN_ITEMS and all(_ITEM.match(line) for line in lines)


def _grams(text: str) -> list[Hashable]:
    folded = text.casefold()
    spelt = words(folded)
    num_letters = sum(map(len, spelt))
    if 2 * len(_UNSPACED.findall(folded)) >= num_letters > 0:
        joined = _BETWEEN.sub("", folded)
        return [
            joined[start : start + LETTERS_PER_GRAM]
            for start in range(len(joined) - LETTERS_PER_GRAM + 1)
        ]
    num_han = sum(map(len, _HAN_OR_KANA.findall(folded)))
    size = HAN_PER_GRAM if 2 * num_han >= num_letters else WORDS_PER_GRAM
    return list(zip(*(spelt[start:] for start in range(size)), strict=False))


def _share_seen_before(items: Sequence[Hashable]) -> float:
    return 1 - len(set(items)) / len(items)
