"""The common part of rules that count what occurs in a reply."""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import ClassVar

from gatt.verifiers.base import Verdict
from gatt.verifiers.rule import Rule, Span, quote, require_bounds


class OccurrenceRule(Rule):
    """Passes if the number of occurrences lies within the bounds, both included.

    Args:
        min: fewest allowed, a whole number from `least` up.
        max: most allowed; unbounded if not given.

    Raises:
        VerifierError: no bound, a bound that is no whole number from `least`
            up, or `min` above `max`.
    """

    least: ClassVar[int] = 0

    def __init__(self, *, min: int | None = None, max: int | None = None) -> None:  # noqa: A002
        self._low, self._high = require_bounds(self.kind, min, max, least=self.least)

    @abstractmethod
    def occurrences(self, reply: str) -> list[Span]:
        """Return the spans of what is counted, in order."""

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        found = self.occurrences(reply)
        evidence = f"{self.kind}: {len(found)}"
        if len(found) < self._low:
            return self.failed(f"{evidence}, expected at least {self._low}")
        if self._high is not None and len(found) > self._high:
            return self.failed(f"{evidence}, expected at most {self._high}", found[self._high])
        if not found:
            return self.passed(evidence)
        first = quote(reply[slice(*found[0])])
        return self.passed(f"{evidence}, the first {first}", found[0])


class PatternRule(OccurrenceRule):
    """Counts the matches of a pattern, at least one by default."""

    least = 1
    regex: ClassVar[re.Pattern[str]]

    def __init__(self, *, min: int | None = 1, max: int | None = None) -> None:  # noqa: A002
        super().__init__(min=min, max=max)

    def occurrences(self, reply: str) -> list[Span]:
        """Return the spans of all matches."""
        return [match.span() for match in self.regex.finditer(reply)]
