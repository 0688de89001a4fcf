"""Repetition: words, phrases and characters that come again more than speech needs.

Loops (a phrase said again and again in one place) and n-grams that return anywhere
are told apart: emphasis ("No, no, no!"), lists, verses and code are neither.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence

from gatt.verifiers.phrases import word_set
from gatt.verifiers.text.words import SPACELESS, words

MAX_LOOP_WORDS = 20
MIN_REPEATS = 3
"""Times from which a word that is the whole reply is a loop: "Ciao ciao ciao"; "No, no, no!" is none."""
MAX_EMPHATIC_CHARACTERS = 4
"""Han or kana in a phrase that counts as one word ("はい", "いいえ")."""

# "I like" and "and the" may come as often as they do.
WORDS_PER_GRAM, HAN_PER_GRAM = 3, 5
MIN_GRAMS = 5

_EMPHATIC = word_set("languages", "emphatic")
_LAUGHTER = re.compile(
    r"(?:h[aeo]+h?|j[aei]|l[oe]+l|х[аеи]|χ[αε]|[哈呵嘿嘻ㅋㅎ하허호헤はふへハフヘ])+"
)

_HAN_OR_KANA = re.compile(rf"[{SPACELESS}]+")
_ITEM = re.compile(r"\s*(?:[-*•+–]|\d{1,3}[.)]|[^\s:：][^:：]{0,40}[:：](?:\s|$))")
_MIN_ITEMS = 3


def find_loop(text: str) -> str | None:
    """Return what a text says over and over in one place, as a phrase for a reader, or None.

    Also for one word alone.
    """
    spelt = [word.casefold() for word in words(text)]
    if len(spelt) >= MIN_REPEATS and len(set(spelt)) == 1:
        return _one_word(spelt[0], len(spelt))
    loop = _word_loop(spelt)
    return f"loop: {loop[0]!r} repeated {loop[1]} times" if loop else None


def repeated_share(text: str) -> float:
    """Return the share of n-grams that stood in the text before, from 0 to 1.

    Three words make an n-gram, or several characters where a script has no
    spaces. Of lists, tables, code and JSON only whole lines count: their items
    are alike by nature. Texts too short to tell give 0.
    """
    stripped = (line.strip() for line in text.splitlines())
    lines = [line for line in stripped if line and not line.startswith("```")]
    is_list = len(lines) >= _MIN_ITEMS and all(map(_ITEM.match, lines))
    is_structured = is_list or "```" in text or text.lstrip()[:1] in ("{", "[")
    units: Sequence[Hashable] = lines if is_structured else _grams(text.casefold())
    if len(units) < (_MIN_ITEMS + 1 if is_structured else MIN_GRAMS):
        return 0.0
    return 1 - len(set(units)) / len(units)


def _grams(text: str) -> list[Hashable]:
    units = words(text)
    is_han = 2 * sum(map(len, _HAN_OR_KANA.findall(text))) >= sum(map(len, units))
    size = HAN_PER_GRAM if is_han else WORDS_PER_GRAM
    return list(zip(*(units[start:] for start in range(size)), strict=False))


def _is_emphatic(phrase: str) -> bool:
    return phrase in _EMPHATIC or bool(_LAUGHTER.fullmatch(phrase))


def _one_word(word: str, count: int) -> str | None:
    is_han = bool(_HAN_OR_KANA.fullmatch(word))
    # An even run of one Han character is a doubled word, said half as often.
    num_said = count // 2 if is_han and count % 2 == 0 else count
    most = 2 * MIN_REPEATS if is_han else MIN_REPEATS
    if num_said < MIN_REPEATS or (count <= most and _is_emphatic(word)):
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
        phrase = spelt[end - period : end]
        if count > 1 and _is_loop(phrase, count, (longest + period) / total):
            return " ".join(phrase), count
    return None


def _is_loop(phrase: Sequence[str], count: int, covered: float) -> bool:
    """Whether `count` repeats in a row of a phrase, a share of the text, are more than emphasis."""
    period, joined = len(phrase), "".join(phrase)
    if period == 1 or (period <= MAX_EMPHATIC_CHARACTERS and _HAN_OR_KANA.fullmatch(joined)):
        is_all = count >= MIN_REPEATS and covered >= 0.95 and not _is_emphatic(joined)
        return is_all or count >= 7 or (count >= 4 and covered >= 0.7)
    is_twice = count == 2 and period >= 4 and covered >= 0.95
    return is_twice or count >= 5 or (count >= 3 and covered >= 0.5)
