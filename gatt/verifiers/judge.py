"""`judge`: what no rule can tell is left to a judge model, with a rubric of its own."""

from __future__ import annotations

from dataclasses import dataclass

from gatt.verifiers.base import Verdict
from gatt.verifiers.rule import Rule, quote

JUDGE = "judge"
"""The kind, and the name under which the verdicts of the judge model stand."""


@dataclass(frozen=True, kw_only=True)
class Judge(Rule):
    """Never passes by itself: `undecided` for text, `fail` for what is degenerate.

    A verifier is a pure rule on one reply and has no engine. `eval.scoring.judge` asks a
    model about every reply that has such a verifier, by its rubric alone, and puts
    the answer in the place of this verdict. Where no judge is configured, it stays
    undecided and is counted as such.

    Args:
        rubric: what a reply must be like to pass, as one would tell a person.
    """

    kind = JUDGE

    rubric: str

    def __post_init__(self) -> None:
        if not self.rubric.strip():
            raise ValueError(f"'rubric' is {self.rubric!r}: expected what a reply must be like")

    def decide(self, reply: str) -> Verdict:  # noqa: ARG002 - part of the contract
        """Return that a model must be asked."""
        return self.undecided(f"for the judge: {quote(self.rubric)}")


def is_open(verdict: Verdict) -> bool:
    """Whether a verdict waits for the judge model, or got none from it."""
    return verdict.verifier == JUDGE and verdict.status == "undecided"
