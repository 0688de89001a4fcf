"""`characters` and `capital_words`: how often a character occurs, and words in capitals."""

from __future__ import annotations

import re
from typing import ClassVar

from gatt.errors import VerifierError
from gatt.verifiers.base import Examples
from gatt.verifiers.forms.counting_rule import OccurrenceRule
from gatt.verifiers.rule import Span
from gatt.verifiers.text.words import word_spans

MIN_CAPITALS = 2
"""Letters from which a word in capitals is one on purpose: "I" is always a capital."""


class Characters(OccurrenceRule):
    """Passes if a character occurs as often as the bounds say, in either case.

    Args:
        character: one letter, digit or mark.
        min: fewest allowed, a whole number from 0 up; none if not given.
        max: most allowed; unbounded if not given.

    Raises:
        VerifierError: no single character, no bound at all, a bound that is no
            whole number from 0 up, or `min` above `max`.
    """

    kind = "characters"
    reads_markup = True
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"character": "e", "min": 3},
            good=("Every evening is fine.", "The sea EATS me"),
            bad=("A big cat sat on it.", "Tea is good."),
        ),
        Examples(
            {"character": "!", "max": 1},
            good=("I like tea!", "I like tea."),
            bad=("Hi! I like tea!", "What?! I like tea!!"),
        ),
    )

    def __init__(
        self,
        *,
        character: str,
        min: int | None = None,  # noqa: A002
        max: int | None = None,  # noqa: A002
    ) -> None:
        super().__init__(min=min, max=max)
        if not isinstance(character, str) or len(character) != 1 or character.isspace():
            raise VerifierError(
                f"verifier {self.kind!r}: 'character' is {character!r}: "
                "expected a single letter, digit or mark"
            )
        self._regex = re.compile(re.escape(character), re.IGNORECASE)

    def occurrences(self, reply: str) -> list[Span]:
        """Return where the character stands."""
        return [match.span() for match in self._regex.finditer(reply)]


class CapitalWords(OccurrenceRule):
    """Passes if the number of words in capitals lies within the bounds.

    A word counts from `MIN_CAPITALS` letters on ("I" and "A" are no shouting);
    one with a hyphen is one word, digits beside the letters make no difference.

    Args:
        min: fewest allowed, a whole number from 0 up; none if not given.
        max: most allowed; unbounded if not given.

    Raises:
        VerifierError: no bound at all, a bound that is no whole number from 0
            up, or `min` above `max`.
    """

    kind = "capital_words"
    reads_markup = True
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"min": 2, "max": 3},
            good=("I LIKE tea a LOT.", "A WELL-KNOWN fact of the **USA**."),
            bad=("I like tea, and so do I.", "I REALLY DO LIKE TEA.", "NO, I do not."),
        ),
        Examples(
            {"max": 0},
            good=("I like tea.", "A cup of tea, please."),
            bad=("I like the BBC.", "COME at five."),
        ),
    )

    def occurrences(self, reply: str) -> list[Span]:
        """Return the spans of the words in capitals."""
        return [(start, end) for start, end in word_spans(reply) if _is_shout(reply[start:end])]


def _is_shout(word: str) -> bool:
    return word.isupper() and sum(map(str.isalpha, word)) >= MIN_CAPITALS
