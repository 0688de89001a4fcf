"""`emoji` and `number`: things that a reply must hold some of."""

from __future__ import annotations

import re
from typing import ClassVar

from gatt.verifiers.base import Examples, Verdict
from gatt.verifiers.markup import EMOJI
from gatt.verifiers.rule import Rule, quote, require_bounds

_FLAG = r"[\U0001f1e6-\U0001f1ff]{2}"
_KEYCAP = r"[0-9#*]\ufe0f?\u20e3"
_PICTOGRAPH = rf"[{EMOJI}][\ufe0f\U0001f3fb-\U0001f3ff]*"
_ONE_EMOJI = f"(?:{_FLAG}|{_KEYCAP}|{_PICTOGRAPH})"
_EMOJI = re.compile(rf"{_ONE_EMOJI}(?:\u200d{_ONE_EMOJI})*")
_NUMBER = re.compile(r"(?<![^\W_])\d+(?:[.,:/]\d+)*")


class _Occurrences(Rule):
    """The common part: a pattern that occurs at least `min` and at most `max` times."""

    _regex: ClassVar[re.Pattern[str]]

    def __init__(self, *, min: int | None = 1, max: int | None = None) -> None:  # noqa: A002
        self._low, self._high = require_bounds(self.kind, min, max, least=1)

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        found = list(self._regex.finditer(reply))
        evidence = f"{self.kind}: {len(found)}"
        if len(found) < self._low:
            return self.failed(f"{evidence}, expected at least {self._low}")
        if self._high is not None and len(found) > self._high:
            return self.failed(f"{evidence}, expected at most {self._high}")
        if not found:
            return self.passed(evidence)
        return self.passed(f"{evidence}, the first {quote(found[0][0])}", found[0].span())


class Emoji(_Occurrences):
    """Passes if the number of emoji is within the bounds; a joined family counts once.

    Args:
        min: fewest allowed, a whole number from 1 up.
        max: most allowed; unbounded if not given.

    Raises:
        VerifierError: no bound, a bound that is no whole number from 1 up, or
            `min` above `max`.
    """

    kind = "emoji"
    _regex = _EMOJI
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"min": 1, "max": 2},
            good=("I like tea 😊", "Family first 👨‍👩‍👧 and France 🇫🇷!"),
            bad=("I like tea :)", "Too many 😊😊😊 of them"),
        ),
    )


class Number(_Occurrences):
    """Passes if the number of numbers in digits is within the bounds ("3.14" is one).

    Args:
        min: fewest allowed, a whole number from 1 up.
        max: most allowed; unbounded if not given.

    Raises:
        VerifierError: no bound, a bound that is no whole number from 1 up, or
            `min` above `max`.
    """

    kind = "number"
    _regex = _NUMBER
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"min": 2},
            good=("I bought 3 apples for 2.50 euros.", "Between 1,000 and 2,000 people came."),
            bad=("I bought three apples.", "It costs 2.50 euros."),
        ),
    )
