"""`sections`: parts of a reply that are numbered under a word of their own ("Section 1")."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import ClassVar

from gatt.errors import VerifierError
from gatt.verifiers.base import Examples
from gatt.verifiers.forms.counting_rule import OccurrenceRule
from gatt.verifiers.rule import Span
from gatt.verifiers.text.blocks import has_word


class Sections(OccurrenceRule):
    """Passes if the number of sections lies within the bounds.

    A section starts on a line of its own with the marker and a number, markdown
    aside, and has something behind it: "see Section 2" starts none.

    Args:
        marker: the word in front of the number, in this case ("Section", "DAY").
        min: fewest allowed, a whole number from 0 up; none if not given.
        max: most allowed; unbounded if not given.

    Raises:
        VerifierError: a blank marker, no bound at all, a bound that is no whole
            number from 0 up, or `min` above `max`.
    """

    kind = "sections"
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"marker": "Section", "min": 2},
            good=(
                "Section 1\nI like tea.\n\nSection 2\nYou like milk.",
                "## **Section 1**: Tea\n## **Section 2**: Milk",
            ),
            bad=(
                "I like tea. See Section 2 and Section 3 of the book.",
                "Section 1\nSection 2\nI like tea.",
                "SECTION 1\nI like tea.\nSECTION 2\nYou too.",
                "I like tea.\n\nYou like milk.",
            ),
        ),
    )

    def __init__(
        self,
        *,
        marker: str,
        min: int | None = None,  # noqa: A002
        max: int | None = None,  # noqa: A002
    ) -> None:
        super().__init__(min=min, max=max)
        if not isinstance(marker, str) or not has_word(marker):
            raise VerifierError(
                f"verifier {self.kind!r}: 'marker' is {marker!r}: expected a word such as 'Section'"
            )
        word = r"[ \t]+".join(map(re.escape, marker.split()))
        self._regex = re.compile(
            rf"^[ \t>*_#]*(?P<head>{word}[ \t]*\d{{1,3}})(?![^\W_])", re.MULTILINE
        )

    def occurrences(self, reply: str) -> list[Span]:
        """Return the spans of the headings that something stands behind."""
        found = list(self._regex.finditer(reply))
        starts = [*(match.start() for match in found), len(reply)]
        return [
            match.span("head")
            for match, (_, end) in zip(found, pairwise(starts), strict=True)
            if has_word(reply[match.end() : end])
        ]
