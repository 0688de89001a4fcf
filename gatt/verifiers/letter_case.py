"""`letter_case`: all letters small, or all of them capitals."""

from __future__ import annotations

from typing import ClassVar

from gatt.errors import VerifierError
from gatt.verifiers.base import Examples, Verdict
from gatt.verifiers.rule import Rule

CASES = ("lower", "upper")


class LetterCase(Rule):
    """Passes if every letter that has a case is in the asked one.

    A reply without such letters (Chinese) is undecided.

    Args:
        case: `lower` or `upper`.

    Raises:
        VerifierError: another case.
    """

    kind = "letter_case"
    reads_markup = True
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"case": "lower"},
            good=("i like tea, don't you?", "**well**, that costs 5 euros."),
            bad=("I like tea.", "well, i like Tea."),
        ),
        Examples(
            {"case": "upper"},
            good=("I LIKE TEA!", "COME AT 5 PM."),
            bad=("I LIKE tea.", "I like tea."),
        ),
    )

    def __init__(self, *, case: str) -> None:
        if case not in CASES:
            raise VerifierError(
                f"verifier {self.kind!r}: unknown case {case!r}: expected one of {', '.join(CASES)}"
            )
        self._case = case

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        is_wrong = str.isupper if self._case == "lower" else str.islower
        for index, character in enumerate(reply):
            if is_wrong(character):
                return self.failed(f"{character!r} is not {self._case} case", (index, index + 1))
        if not any(c.isupper() or c.islower() for c in reply):
            return self.undecided("no letter that has a case")
        return self.passed(f"all letters are {self._case} case")
