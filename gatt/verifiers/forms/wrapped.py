"""`wrapped`: the whole reply stands between two marks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from gatt.verifiers.base import Verdict
from gatt.verifiers.forms.openings import straight
from gatt.verifiers.rule import Rule
from gatt.verifiers.text.words import words

_ESCAPED = re.compile(r"\\[\"'\\]")
_EMPHASIS = re.compile(r"(?P<marks>\*{1,3}|_{1,3})(?P<inner>[^\n].*?)(?P=marks)\Z", re.DOTALL)
_CURLY = re.compile("(?s)(?P<left>[“„])(?P<inner>.+)(?!(?P=left))[”“]")


@dataclass(frozen=True, kw_only=True)
class Wrapped(Rule):
    """Passes if the reply starts with `left`, ends with `right`, and is one such piece.

    Curly quotation marks count as straight ones, and emphasis around all of it makes
    no difference. '"Yes," he said, "I do."' starts and ends with a quotation mark but
    is not wrapped; a quotation inside needs other marks, or a backslash.

    Args:
        left: the opening mark.
        right: the closing mark; it may be the same.
    """

    kind = "wrapped"
    version = 2
    reads_markup = True

    left: str
    right: str

    def __post_init__(self) -> None:
        if not (self.left.strip() and self.right.strip()):
            raise ValueError(f"'left' {self.left!r} and 'right' {self.right!r}: expected two marks")

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        left, right = straight(self.left.strip()), straight(self.right.strip())
        text = reply.strip()
        # Emphasis around all of it makes no difference, unless that is the mark that is asked for.
        if left[0] not in "*_" and (found := _EMPHASIS.match(text)):
            text = found["inner"].strip()
        # What a backslash escapes stays in the text.
        text = _ESCAPED.sub("xx", text)
        if left == right == '"' and _CURLY.fullmatch(text):
            # One pair of marks for „German“ and “English” quotations.
            left, right, text = "“", "”", text.translate({ord(text[0]): "“", ord(text[-1]): "”"})
        else:
            text = straight(text)
        inner = text[len(left) : len(text) - len(right)]
        if not (inner and text.startswith(left) and text.endswith(right)):
            return self.failed(f"not between {left!r} and {right!r}")
        if not words(inner):
            return self.failed(f"nothing between {left!r} and {right!r}")
        if _closes_early(inner, left, right):
            return self.failed(f"closes with {right!r} before its end")
        return self.passed(f"stands between {left!r} and {right!r}")


def _closes_early(inner: str, left: str, right: str) -> bool:
    if left == right:
        # An apostrophe inside a word closes no single quotation mark.
        return any(
            not (before[-1:].isalnum() and after[:1].isalnum())
            for before, after in pairwise(inner.split(left))
        )
    depth = 0
    for mark in re.finditer(f"{re.escape(right)}|{re.escape(left)}", inner):
        depth += 1 if mark[0] == left else -1
        if depth < 0:
            return True
    # "[[so]" closes the inner one only.
    return depth > 0
