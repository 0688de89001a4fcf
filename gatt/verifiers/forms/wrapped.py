"""`wrapped`: the whole reply stands between two marks."""

from __future__ import annotations

import re
from itertools import pairwise

from gatt.errors import VerifierError
from gatt.verifiers.base import Verdict
from gatt.verifiers.rule import Rule, shipped_examples
from gatt.verifiers.text.words import words

_ESCAPED = re.compile(r"\\[\"'\\]")
_EMPHASIS = re.compile(r"(?P<marks>\*{1,3}|_{1,3})(?P<inner>[^\n].*?)(?P=marks)\Z", re.DOTALL)
_STRAIGHT = str.maketrans("“”„‘’", '"""\'\'')


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
    examples = shipped_examples(kind)

    def __init__(self, *, left: str, right: str) -> None:
        for name, mark in (("left", left), ("right", right)):
            if not isinstance(mark, str) or not mark.strip():
                raise VerifierError(
                    f"verifier {self.kind!r}: {name!r} is {mark!r}: expected a mark"
                )
        self._left = left.strip().translate(_STRAIGHT)
        self._right = right.strip().translate(_STRAIGHT)

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        left, right = self._left, self._right
        text = _without_emphasis(reply.strip(), left)
        # What a backslash escapes stays in the text.
        text = _ESCAPED.sub("xx", text)
        has_pairs = (
            left == right == '"' and text[:1] in "“„" and text[-1:] in "”“" and text[0] != text[-1]
        )
        if has_pairs:
            left, right, text = "“", "”", _as_pair(text)
        else:
            text = text.translate(_STRAIGHT)
        fits = len(text) > len(left) + len(right)
        if not (fits and text.startswith(left) and text.endswith(right)):
            return self.failed(f"not between {left!r} and {right!r}")
        inner = text[len(left) : len(text) - len(right)]
        if not words(inner):
            return self.failed(f"nothing between {left!r} and {right!r}")
        if _closes_early(inner, left, right):
            return self.failed(f"closes with {right!r} before its end")
        return self.passed(f"stands between {left!r} and {right!r}")


def _without_emphasis(text: str, left: str) -> str:
    """Return a text without emphasis around all of it, unless that is the mark that is asked for."""
    found = None if left[0] in "*_" else _EMPHASIS.match(text)
    return found["inner"].strip() if found else text


def _as_pair(text: str) -> str:
    """Return a text with one pair of marks for „German“ and “English” quotations."""
    opener, closer = text[0], text[-1]
    return text.translate({ord(opener): "“", ord(closer): "”"})


def _closes_early(inner: str, left: str, right: str) -> bool:
    if left == right:
        # An apostrophe inside a word closes no single quotation mark.
        pieces = inner.split(left)
        return any(
            not (before[-1:].isalnum() and after[:1].isalnum())
            for before, after in pairwise(pieces)
        )
    depth = 0
    for mark in re.finditer(f"{re.escape(right)}|{re.escape(left)}", inner):
        depth += 1 if mark[0] == left else -1
        if depth < 0:
            return True
    # "[[so]" closes the inner one only.
    return depth > 0
