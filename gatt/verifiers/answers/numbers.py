"""Numbers of a text by value: "8", "8.0", "٨" and "eight" are one; "18", "1/8" and "8-10" are others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from gatt.verifiers.phrases import read_phrases

_LISTED = read_phrases("answers")
_UNITS: Final[dict[str, int]] = {w: n for n, w in enumerate(_LISTED["units"].split())}
_SMALL: Final = _UNITS | {w: 10 * n for n, w in enumerate(_LISTED["tens"].split(), 2)}
_LARGE: Final[dict[str, int]] = {"dozen": 12, "hundred": 100, **_LISTED["scales"]}

NUMBER: Final = (
    r"(?P<clock>\d{1,2}:\d{2}(?::\d{2})?(?!\d))"
    # A range, a fraction, a score, a date in digits: none of them says one of its numbers.
    r"|(?P<span>\d+(?:[.,]\d+)?(?:[-/]\d+(?:[.,]\d+)?)+)"
    r"|(?P<thousands>\d{1,3}(?:[,.']\d{3})+(?:[.,]\d+)?(?![\d])|\d{1,3}(?: 000)+(?!\d))"
    r"|(?P<decimal>(?<!\d[.,])\d+[.,]\d+(?![.,]?\d))"
    r"|(?P<whole>\d+)"
)
"""The forms of a number in digits, inside a regular expression."""
ORDINAL: Final = r"(?P<ordinal>(?:st|nd|rd|th|e|er|re|eme|o|a)(?![^\W_]))"
"""What makes an ordinal of the digits before it: "8th" is not "8"."""


def values_of(match: re.Match[str]) -> frozenset[Decimal]:
    """Return what a number in digits may mean: "1.000" is 1 or 1000; nothing for a range or a clock."""
    text = match[0].lstrip("-").replace("'", "").replace(" ", "")
    if match["thousands"]:
        whole = re.sub(r"[,.](?=\d{3}(?:\D|$))", "", text).replace(",", ".")
        # "1.000" is one as well; "1,000" is a thousand.
        readings = {whole, text} if re.fullmatch(r"\d+\.\d+", text) else {whole}
        return frozenset(map(Decimal, readings))
    if match["decimal"] or match["whole"]:
        return frozenset({Decimal(text.replace(",", "."))})
    return frozenset()


def spoken_number(words: Sequence[str], start: int) -> tuple[Decimal, int] | None:
    """Return the value of the English number words from `start`, and where they end; None without one.

    "Twenty-eight" is 28 and "one hundred and eight" 108, never 8 or 20; "a dozen" is 12.
    """
    total, part, at = 0, 0, start
    is_open = (
        True  # Whether any number may follow: at the start, and behind a hundred or a thousand.
    )
    if words[at] in ("a", "an"):
        at += 1
        if words[at : at + 1] == [] or words[at] not in _LARGE:
            return None
    while at < len(words):
        has_and = at > start and is_open and words[at] == "and"
        word = words[at + has_and] if at + has_and < len(words) else ""
        factor = 0 if has_and else _LARGE.get(word, 0)
        if factor >= 1000 or (factor and part < 100):
            part = max(part, 1) * factor
            is_open = factor >= 100
            if part >= 1000:
                total, part = total + part, 0
        elif word in _SMALL and (
            is_open or (_SMALL.get(words[at - 1], 0) >= 20 and 0 < _SMALL[word] < 10)
        ):
            part += _SMALL[word]
            is_open = False
        elif words[at - 1] in _SMALL and 10 <= part <= 20 and _SMALL.get(word, 0) >= 10:
            # "Nineteen sixty-nine" is a year.
            part = 100 * part + _SMALL[word]
        else:
            break
        at += 1 + has_and
    if at == start:
        return None
    value = Decimal(total + part)
    if words[at : at + 3] == ["and", "a", "half"]:
        return value + Decimal("0.5"), at + 3
    if words[at : at + 1] == ["point"] and words[at + 1 : at + 2] and words[at + 1] in _UNITS:
        return value + Decimal(_UNITS[words[at + 1]]) / 10, at + 2
    return value, at


def scale_after(words: Sequence[str], at: int) -> int:
    """Return what the word behind a number in digits multiplies it by: "8 million" is not 8."""
    is_scale = at < len(words) and words[at] != "dozen"
    return _LARGE.get(words[at], 1) if is_scale else 1
