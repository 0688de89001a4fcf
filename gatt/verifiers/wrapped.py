"""`wrapped`: the whole reply stands between two marks."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

from gatt.errors import VerifierError
from gatt.verifiers.base import Examples, Verdict
from gatt.verifiers.rule import Rule
from gatt.verifiers.words import words

_STRAIGHT = str.maketrans("“”„‘’", '"""\'\'')


class Wrapped(Rule):
    """Passes if the reply starts with `left`, ends with `right`, and is one such piece.

    Curly quotation marks count as straight ones. '"Yes," he said, "I do."'
    starts and ends with a quotation mark but is not wrapped.

    Args:
        left: the opening mark.
        right: the closing mark; it may be the same.

    Raises:
        VerifierError: a mark that is blank or no text.
    """

    kind = "wrapped"
    reads_markup = True
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"left": '"', "right": '"'},
            good=('"I like tea."', "  “That is fine with me.”\n"),
            bad=("I like tea.", '"Yes," he said, "I do."', '"I like tea.'),
        ),
        Examples(
            {"left": "[", "right": "]"},
            good=("[I like tea (a lot).]", "[see [this] and that]"),
            bad=("[I like] tea [a lot]", "(I like tea.)"),
        ),
    )

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
        text = reply.strip().translate(_STRAIGHT)
        left, right = self._left, self._right
        fits = len(text) > len(left) + len(right)
        if not (fits and text.startswith(left) and text.endswith(right)):
            return self.failed(f"not between {left!r} and {right!r}")
        inner = text[len(left) : len(text) - len(right)]
        if not words(inner):
            return self.failed(f"nothing between {left!r} and {right!r}")
        if self._closes_early(inner):
            return self.failed(f"closes with {right!r} before its end")
        return self.passed(f"stands between {left!r} and {right!r}")

    def _closes_early(self, inner: str) -> bool:
        left, right = self._left, self._right
        if left == right:
            # An apostrophe inside a word closes no single quotation mark.
            pieces = inner.split(left)
            return any(
                not (before[-1:].isalnum() and after[:1].isalnum())
                for before, after in pairwise(pieces)
            )
        depth = index = 0
        while index < len(inner):
            if inner.startswith(right, index):
                depth -= 1
            elif inner.startswith(left, index):
                depth += 1
            if depth < 0:
                return True
            index += 1
        return False
