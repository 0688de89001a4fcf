"""Numbers of a text by value: "8", "8.0", "٨" and "eight" are one; "18", "1/8" and "8-10" are others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from gatt.verifiers.phrases import read_phrases

_LISTED = read_phrases("answers")
_UNITS: Final[dict[str, int]] = {w: n for n, w in enumerate(_LISTED["units"].split())}
_TENS: Final[dict[str, int]] = {w: 10 * n for n, w in enumerate(_LISTED["tens"].split(), 2)}
_SCALES: Final[dict[str, int]] = dict(_LISTED["scales"])

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
    total, at = Decimal(0), start
    while True:
        part = _below_thousand(words, at)
        if part is None:
            break
        value, end = part
        scale = _SCALES.get(words[end], 0) if end < len(words) else 0
        total, at = total + value * max(scale, 1), end + bool(scale)
        following = at + (words[at : at + 1] == ["and"])
        if not scale or _below_thousand(words, following) is None:
            break
        at = following
    if at == start:
        return None
    if words[at : at + 3] == ["and", "a", "half"]:
        return total + Decimal("0.5"), at + 3
    if words[at : at + 1] == ["point"] and at + 1 < len(words) and words[at + 1] in _UNITS:
        return total + Decimal(_UNITS[words[at + 1]]) / 10, at + 2
    return total, at


def scale_after(words: Sequence[str], at: int) -> int:
    """Return what the word behind a number in digits multiplies it by: "8 million" is not 8."""
    return _SCALES.get(words[at], 100 if words[at] == "hundred" else 1) if at < len(words) else 1


def _below_thousand(words: Sequence[str], at: int) -> tuple[Decimal, int] | None:
    found = _below_hundred(words, at)
    following = found[1] if found else at
    if found is None and words[at : at + 1] in (["a"], ["an"]):
        following = at + 1
    word = words[following] if following < len(words) else ""
    number = found[0] if found else 1
    if word == "dozen":
        return Decimal(12 * number), following + 1
    if word == "hundred":
        rest = following + 1
        rest += words[rest : rest + 1] == ["and"] and _below_hundred(words, rest + 1) is not None
        more = _below_hundred(words, rest)
        return (
            (Decimal(100 * number + more[0]), more[1])
            if more
            else (Decimal(100 * number), following + 1)
        )
    if found is None:
        is_scale = word in _SCALES
        return (Decimal(1), following) if is_scale else None
    # "Nineteen sixty-nine" is a year.
    if 10 <= number < 21 and (tail := _below_hundred(words, following)) and tail[0] >= 10:
        return Decimal(100 * number + tail[0]), tail[1]
    return Decimal(number), following


def _below_hundred(words: Sequence[str], at: int) -> tuple[int, int] | None:
    word = words[at] if at < len(words) else ""
    if word in _TENS:
        unit = _UNITS.get(words[at + 1], 0) if at + 1 < len(words) else 0
        return (_TENS[word] + unit, at + 2) if 1 <= unit <= 9 else (_TENS[word], at + 1)
    return (_UNITS[word], at + 1) if word in _UNITS else None
