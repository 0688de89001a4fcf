"""`sentences`, `words`, `lines`, `paragraphs`: how much a reply may hold of each."""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import ClassVar

from gatt.verifiers.base import Examples, Verdict
from gatt.verifiers.markup import strip_markdown
from gatt.verifiers.rule import Rule, require_bounds
from gatt.verifiers.sentence_split import sentences
from gatt.verifiers.words import words

_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_HAS_WORD = re.compile(r"[^\W_]")


class CountRule(Rule):
    """Passes if the number of units lies within the bounds, both included.

    Args:
        min: fewest allowed, a whole number from 0 up; none if not given.
        max: most allowed; unbounded if not given.

    Raises:
        VerifierError: no bound at all, a bound that is no whole number from 0
            up, or `min` above `max`.
    """

    def __init__(self, *, min: int | None = None, max: int | None = None) -> None:  # noqa: A002
        self._low, self._high = require_bounds(self.kind, min, max)

    @abstractmethod
    def count(self, reply: str) -> int:
        """Return how many units a reply has."""

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        number = self.count(reply)
        evidence = f"{self.kind}: {number}"
        if number < self._low:
            return self.failed(f"{evidence}, expected at least {self._low}")
        if self._high is not None and number > self._high:
            return self.failed(f"{evidence}, expected at most {self._high}")
        return self.passed(evidence)


class Sentences(CountRule):
    """Counts sentences; see `sentence_spans` for what one is."""

    kind = "sentences"
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"min": 1, "max": 1},
            good=(
                "Dr. Smith paid 3.50 dollars for it in the U.S. market, e.g. for apples.",
                "Well... that is hard to say!",
            ),
            bad=("I like tea. You like milk.", "Really? Yes! I do."),
        ),
    )

    def count(self, reply: str) -> int:
        """Return the number of sentences."""
        return len(sentences(reply))


class Words(CountRule):
    """Counts words: "don't" and "well-known" are one, a Han or kana character is one."""

    kind = "words"
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"min": 3, "max": 6},
            good=("I don't like tea.", "That is a **well-known** fact."),
            bad=("Yes, indeed.", "I would like to tell you a rather long story."),
        ),
    )

    def count(self, reply: str) -> int:
        """Return the number of words, markdown marks aside."""
        return len(words(strip_markdown(reply)))


class Lines(CountRule):
    """Counts lines that hold a letter or digit."""

    kind = "lines"
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"min": 2, "max": 3},
            good=("First this.\nThen that.", "One day\n\nwe met\n---\nagain."),
            bad=("All in one line.", "This\nis\nfour\nlines."),
        ),
    )

    def count(self, reply: str) -> int:
        """Return the number of lines with something on them."""
        return sum(bool(_HAS_WORD.search(line)) for line in reply.splitlines())


class Paragraphs(CountRule):
    """Counts blocks that blank lines part and that hold a letter or digit."""

    kind = "paragraphs"
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"min": 2, "max": 2},
            good=("I like tea.\nA lot.\n\nYou like milk.", "First this.\n \n\nThen that."),
            bad=("I like tea.\nYou like milk.", "One thing.\n\nAnother.\n\nA third one."),
        ),
    )

    def count(self, reply: str) -> int:
        """Return the number of paragraphs."""
        text = reply.replace("\r\n", "\n")
        return sum(bool(_HAS_WORD.search(block)) for block in _BLANK_LINES.split(text))
