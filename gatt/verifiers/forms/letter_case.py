"""`letter_case`: all letters small, or all of them capitals."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

from gatt.verifiers.base import Verdict
from gatt.verifiers.rule import Rule

Case = Literal["lower", "upper"]
# Categories of Unicode: `str.islower` takes the signs of "20 ºC" and "2ª" for small letters.
_CAPITALS, _SMALL = frozenset({"Lu", "Lt"}), frozenset({"Ll"})


@dataclass(frozen=True, kw_only=True)
class LetterCase(Rule):
    """Passes if every letter that has a case is in the asked one.

    A reply without such letters (Chinese) is undecided.

    Args:
        case: `lower` or `upper`.
    """

    kind = "letter_case"
    version = 2
    reads_markup = True

    case: Case

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        wrong, right = (_CAPITALS, _SMALL) if self.case == "lower" else (_SMALL, _CAPITALS)
        categories = [unicodedata.category(character) for character in reply]
        for index, category in enumerate(categories):
            if category in wrong:
                span = (index, index + 1)
                return self.failed(f"{reply[index]!r} is not {self.case} case", span)
        if right.isdisjoint(categories):
            return self.undecided("no letter that has a case")
        return self.passed(f"all letters are {self.case} case")
