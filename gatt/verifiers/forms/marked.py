"""`highlights`, `placeholders`, `title`: pieces of a reply between marks."""

from __future__ import annotations

import re
from typing import ClassVar

from gatt.verifiers.base import Examples
from gatt.verifiers.forms.counting_rule import PatternRule
from gatt.verifiers.rule import Span

_HAS_WORD = re.compile(r"[^\W_]")
_HAS_LETTER = re.compile(r"[^\W\d_]")


class Highlights(PatternRule):
    """Passes if the number of pieces emphasised in markdown lies within the bounds.

    "*so*", "**so**", "***so***" and the same with underscores are one each; "2 * 3 * 4"
    and the star of a list item are none. A piece ends on its line.

    Args:
        min: fewest allowed, a whole number from 1 up.
        max: most allowed; unbounded if not given.

    Raises:
        VerifierError: no bound, a bound that is no whole number from 1 up, or
            `min` above `max`.
    """

    kind = "highlights"
    reads_markup = True
    regex = re.compile(
        r"(?<![\\*])(?P<stars>\*{1,3})(?![\s*])[^*\n]{1,500}?(?<!\s)(?P=stars)(?!\*)"
        r"|(?<![\\\w])(?P<lines>_{1,3})(?![\s_])[^_\n]{1,500}?(?<!\s)(?P=lines)(?!\w)"
    )
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"min": 2, "max": 2},
            good=("I like *tea* and **milk**.", "***One*** thing and\n* _another_ thing"),
            bad=(
                "I like **tea**.",
                "* tea\n* milk\n* and 2 * 3 * 4",
                "*a* or *b* or *c*",
                "No mark at all, and snake_case_names.",
            ),
        ),
    )

    def occurrences(self, reply: str) -> list[Span]:
        """Return the spans of what is emphasised and holds a letter or digit."""
        return [span for span in super().occurrences(reply) if _HAS_WORD.search(reply, *span)]


class Placeholders(PatternRule):
    """Passes if the number of placeholders in square brackets lies within the bounds.

    "[your name]" is one. Links, numbers of notes ("[1]", "[^a]") and tick boxes are none.

    Args:
        min: fewest allowed, a whole number from 1 up.
        max: most allowed; unbounded if not given.

    Raises:
        VerifierError: no bound, a bound that is no whole number from 1 up, or
            `min` above `max`.
    """

    kind = "placeholders"
    reads_markup = True
    regex = re.compile(r"\[(?!\^|[xX ]\])[^\[\]\n]+\](?!\()")
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"min": 2, "max": 2},
            good=("Dear [name], meet me at [place].", "[Name]\n**[Address 2]**"),
            bad=(
                "Dear [name], see [our page](a.html) [1].",
                "- [x] tea\n- [ ] milk\n- [] bread",
                "[a] or [b] or [c]",
                "Dear friend, meet me.",
            ),
        ),
    )

    def occurrences(self, reply: str) -> list[Span]:
        """Return the spans of the placeholders, which hold a letter."""
        return [span for span in super().occurrences(reply) if _HAS_LETTER.search(reply, *span)]


class Title(PatternRule):
    """Passes if there is a title in double angular brackets: "<<A cup of tea>>".

    It stands on one line and holds a letter or digit.

    Args:
        min: fewest titles, a whole number from 1 up.
        max: most allowed; unbounded if not given.

    Raises:
        VerifierError: no bound, a bound that is no whole number from 1 up, or
            `min` above `max`.
    """

    kind = "title"
    reads_markup = True
    regex = re.compile(r"<<[^<>\n]+>>")
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {},
            good=("<<A cup of tea>>\n\nI like it.", "# << Tea >>\nI like it."),
            bad=(
                "A cup of tea\n\nI like it.",
                "<A cup of tea>\nYes.",
                "I like it. <<>>",
                "<< - >> yes",
            ),
        ),
    )

    def occurrences(self, reply: str) -> list[Span]:
        """Return the spans of the titles."""
        return [span for span in super().occurrences(reply) if _HAS_WORD.search(reply, *span)]
