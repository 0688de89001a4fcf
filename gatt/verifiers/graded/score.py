"""`score`: a function of the user's own grades the reply from 0 to 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gatt.verifiers.base import Verdict
from gatt.verifiers.graded.judge import JUDGE
from gatt.verifiers.rule import Rule

SCORE: Final = "score"
DECIDED_LATER: Final = frozenset({JUDGE, SCORE})
"""Kinds that never pass by themselves: a model, or a function of the user's, is asked about the reply."""


@dataclass(frozen=True, kw_only=True)
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

    function: str
    at_least: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.at_least <= 1:
            raise ValueError(f"'at_least' is {self.at_least:g}: expected above 0 up to 1")

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
