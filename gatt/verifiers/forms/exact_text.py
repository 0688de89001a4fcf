"""Texts that are found with their case and marks: "[END]" is not "end"."""

from __future__ import annotations

import re
from itertools import pairwise

from gatt.verifiers.text.words import CJK

_STRAIGHT = str.maketrans("“”„‘’", '"""\'\'')
_MARKS = frozenset("*_`")
_PIECE = re.compile(r"\w+|\s+|[^\w\s]+")


def straight(text: str) -> str:
    """Return a text of the same length with straight quotation marks."""
    return text.translate(_STRAIGHT)


def exact_pattern(text: str, *, is_start: bool) -> str:
    """Return the pattern of a text at the start or end of a reply, for what `straight` returns.

    Case and every mark count. White space at the edges of the reply and the amount of it between words
    do not, and neither does markdown emphasis around or inside ("**DAN**:" for "DAN:").

    Args:
        text: not blank.
        is_start: whether it starts the reply; else it ends it.
    """
    wanted = straight(text).strip()
    pieces = _PIECE.findall(wanted)
    phrase = _pattern(pieces[0]) + "".join(
        _emphasis(before, after) + _pattern(after) for before, after in pairwise(pieces)
    )
    outer, inner = (wanted[0], wanted[-1]) if is_start else (wanted[-1], wanted[0])
    around = r"\s*" if outer in _MARKS else r"[\s*_`]*"
    if is_start:
        whole = rf"(?![^\W{CJK}])" if inner.isalnum() else ""
        return rf"\A{around}(?P<phrase>{phrase}){whole}"
    whole = rf"(?<![^\W{CJK}])" if inner.isalnum() else ""
    return rf"{whole}(?P<phrase>{phrase}){around}\Z"


def _pattern(piece: str) -> str:
    return r"\s+" if piece.isspace() else re.escape(piece)


def _emphasis(before: str, after: str) -> str:
    # Marks of the text's own are no emphasis: a run of them that is read in two ways costs its square.
    return "" if _MARKS & {*before, *after} else "[*_`]*"
