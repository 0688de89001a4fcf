"""`score`: a function of the user's own grades the reply from 0 to 1."""

from __future__ import annotations

from typing import Final

from gatt.errors import VerifierError
from gatt.verifiers.base import Verdict
from gatt.verifiers.graded.judge import JUDGE
from gatt.verifiers.rule import Rule, shipped_examples

SCORE: Final = "score"
DECIDED_LATER: Final = frozenset({JUDGE, SCORE})
"""Kinds that never pass by themselves: a model, or a function of the user's, is asked about the reply."""


class Score(Rule):
    """Never passes by itself: `undecided` for text, `fail` for what is degenerate.

    Code of the user's own is not run by a verifier. `eval.scoring.scores` asks the named function of
    `score_file` about every reply that has such a verifier: the reply passes from `at_least` on,
    and the score itself is averaged as a metric. Without that file it stays undecided.

    Args:
        function: name of the function in `SCORES` of the file.
        at_least: score from which on a reply passes, above 0 up to 1.
    """

    kind = SCORE
    examples = shipped_examples(kind)

    def __init__(self, *, function: str, at_least: float = 0.5) -> None:
        if not isinstance(function, str) or not function.strip():
            raise VerifierError(
                f"verifier {self.kind!r}: 'function' is {function!r}: expected a name in SCORES of the "
                "score_file"
            )
        if isinstance(at_least, bool) or not isinstance(at_least, int | float):
            raise VerifierError(
                f"verifier {self.kind!r}: 'at_least' is {at_least!r}: expected a number"
            )
        if not 0 < at_least <= 1:
            raise VerifierError(
                f"verifier {self.kind!r}: 'at_least' is {at_least}: expected above 0 up to 1"
            )
        self.function = function
        self.at_least = float(at_least)

    def check(self, reply: str) -> Verdict:
        """Return the verdict on one reply; digits without a letter are not degenerate here."""
        is_number = any(c.isdigit() for c in reply) and not any(c.isalpha() for c in reply)
        return self.judge(reply) if is_number else super().check(reply)

    def judge(self, reply: str) -> Verdict:  # noqa: ARG002 - part of the contract
        """Return that the function must be asked."""
        return self.undecided(f"for the function {self.function!r} of the score_file")

    def of_value(self, value: float) -> Verdict:
        """Return the verdict of a score from 0 to 1."""
        evidence = f"{self.function} gives {value:.3g}, at least {self.at_least:g} is asked for"
        return self.passed(evidence) if value >= self.at_least else self.failed(evidence)
