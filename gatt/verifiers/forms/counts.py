"""`sentences`, `words`, `lines`, `paragraphs`: how much a reply may hold of each."""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import ClassVar

from gatt.errors import VerifierError
from gatt.verifiers.base import Examples, Verdict
from gatt.verifiers.rule import Rule, Span, require_bounds
from gatt.verifiers.text.blocks import divided_spans, has_word, paragraph_spans
from gatt.verifiers.text.markup import strip_markdown
from gatt.verifiers.text.sentences import sentences
from gatt.verifiers.text.words import words

_ADDRESS = re.compile(r"(?:https?://|www\.)\S+")
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
    version = 3
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
    """Counts words: "don't", "well-known" and an address are one, a Han or kana character is one."""

    kind = "words"
    version = 2
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"min": 3, "max": 6},
            good=("I don't like tea.", "That is a **well-known** fact."),
            bad=("Yes, indeed.", "I would like to tell you a rather long story."),
        ),
    )

    def count(self, reply: str) -> int:
        """Return the number of words, markdown marks aside."""
        return len(words(strip_markdown(_ADDRESS.sub("x", reply))))


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
    """Counts blocks that blank lines part, or a divider, and that hold a letter or digit.

    Args:
        min: fewest allowed, a whole number from 0 up; none if not given.
        max: most allowed; unbounded if not given.
        divider: what parts the paragraphs instead of blank lines ("***"), between
            white space; nothing between two of them is a fail.

    Raises:
        VerifierError: no bound at all, a bound that is no whole number from 0
            up, `min` above `max`, or a divider with white space or nothing in it.
    """

    kind = "paragraphs"
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"min": 2, "max": 2},
            good=("I like tea.\nA lot.\n\nYou like milk.", "First this.\n \n\nThen that."),
            bad=("I like tea.\nYou like milk.", "One thing.\n\nAnother.\n\nA third one."),
        ),
        Examples(
            {"min": 2, "max": 2, "divider": "***"},
            good=("I like tea.\n\nA lot.\n***\nYou like milk.", "***\nThis.\n\n***\n\nThat. ***"),
            bad=(
                "I like tea.\n\nYou like milk.",
                "I ***really*** like tea.",
                "One thing.\n***\n***\nAnother.",
            ),
        ),
    )

    def __init__(
        self,
        *,
        min: int | None = None,  # noqa: A002
        max: int | None = None,  # noqa: A002
        divider: str | None = None,
    ) -> None:
        super().__init__(min=min, max=max)
        if divider is not None:
            require_divider(self.kind, divider)
        self._divider = divider

    def count(self, reply: str) -> int:
        """Return the number of paragraphs."""
        return len(self._spans(reply))

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        for span in self._spans(reply):
            if not has_word(reply[slice(*span)]):
                return self.failed(f"nothing between two dividers {self._divider!r}", span)
        return super().judge(reply)

    def _spans(self, reply: str) -> list[Span]:
        if self._divider is None:
            return paragraph_spans(reply)
        return divided_spans(reply, self._divider)


def require_divider(kind: str, value: object) -> str:
    """Return a parameter that must be a divider: a text without white space.

    Raises:
        VerifierError: it is something else.
    """
    if not isinstance(value, str) or len(value.split()) != 1 or value != value.strip():
        raise VerifierError(
            f"verifier {kind!r}: 'divider' is {value!r}: expected marks such as '***'"
        )
    return value
