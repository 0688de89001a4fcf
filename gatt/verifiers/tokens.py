"""`emoji` and `number`: things that a reply must hold some of."""

from __future__ import annotations

import re
from typing import ClassVar

from gatt.verifiers.base import Examples
from gatt.verifiers.markup import EMOJI
from gatt.verifiers.occurrences import PatternRule

_FLAG = r"[\U0001f1e6-\U0001f1ff]{2}"
_KEYCAP = r"[0-9#*]\ufe0f?\u20e3"
_PICTOGRAPH = rf"[{EMOJI}][\ufe0f\U0001f3fb-\U0001f3ff]*"
_ONE_EMOJI = f"(?:{_FLAG}|{_KEYCAP}|{_PICTOGRAPH})"
_EMOJI = re.compile(rf"{_ONE_EMOJI}(?:\u200d{_ONE_EMOJI})*")
_NUMBER = re.compile(r"(?<![^\W_])\d+(?:[.,:/]\d+)*")


class Emoji(PatternRule):
    """Passes if the number of emoji is within the bounds; a joined family counts once.

    Args:
        min: fewest allowed, a whole number from 1 up.
        max: most allowed; unbounded if not given.

    Raises:
        VerifierError: no bound, a bound that is no whole number from 1 up, or
            `min` above `max`.
    """

    kind = "emoji"
    regex = _EMOJI
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"min": 1, "max": 2},
            good=("I like tea 😊", "Family first 👨‍👩‍👧 and France 🇫🇷!"),
            bad=("I like tea :)", "Too many 😊😊😊 of them"),
        ),
    )


class Number(PatternRule):
    """Passes if the number of numbers in digits is within the bounds ("3.14" is one).

    Args:
        min: fewest allowed, a whole number from 1 up.
        max: most allowed; unbounded if not given.

    Raises:
        VerifierError: no bound, a bound that is no whole number from 1 up, or
            `min` above `max`.
    """

    kind = "number"
    regex = _NUMBER
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"min": 2},
            good=("I bought 3 apples for 2.50 euros.", "Between 1,000 and 2,000 people came."),
            bad=("I bought three apples.", "It costs 2.50 euros."),
        ),
    )
