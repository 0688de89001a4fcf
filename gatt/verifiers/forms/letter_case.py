"""`letter_case`: all letters small, or all of them capitals."""

from __future__ import annotations

import unicodedata

from gatt.errors import VerifierError
from gatt.verifiers.base import Verdict
from gatt.verifiers.rule import Rule, shipped_examples

CASES = ("lower", "upper")
_CAPITALS = frozenset({"Lu", "Lt"})
_SMALL = frozenset({"Ll"})
"""Categories of Unicode; `str.islower` takes the signs of "20 ºC" and "2ª" for small letters."""


class LetterCase(Rule):
    """Passes if every letter that has a case is in the asked one.

    A reply without such letters (Chinese) is undecided.

    Args:
        case: `lower` or `upper`.
    """

    kind = "letter_case"
    version = 2
    reads_markup = True
    examples = shipped_examples(kind)

    def __init__(self, *, case: str) -> None:
        if case not in CASES:
            raise VerifierError(
                f"verifier {self.kind!r}: unknown case {case!r}: expected one of {', '.join(CASES)}"
            )
        self._case = case

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        wrong, right = _CAPITALS, _SMALL
        if self._case == "upper":
            wrong, right = right, wrong
        categories = [unicodedata.category(character) for character in reply]
        for index, category in enumerate(categories):
            if category in wrong:
                found = reply[index]
                return self.failed(f"{found!r} is not {self._case} case", (index, index + 1))
        if right.isdisjoint(categories):
            return self.undecided("no letter that has a case")
        return self.passed(f"all letters are {self._case} case")
