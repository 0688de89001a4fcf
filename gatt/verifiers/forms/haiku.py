"""`haiku`: three lines of five, seven and five syllables, or nearly."""

from __future__ import annotations

from gatt.verifiers.base import Verdict
from gatt.verifiers.rule import Rule, shipped_examples
from gatt.verifiers.text.markup import strip_markdown
from gatt.verifiers.text.syllables import syllables
from gatt.verifiers.text.words import words

PATTERN = (5, 7, 5)
TOLERANCE = 1


class Haiku(Rule):
    """Passes on three lines of 5, 7 and 5 English syllables, each give or take one.

    The tolerance answers for the heuristic of `syllables`. Blank lines and
    markdown do not count; a title or an introduction is a line too many.
    """

    kind = "haiku"
    version = 2
    examples = shipped_examples(kind)

    def __init__(self) -> None:
        """Take no parameters."""

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        lines = [found for line in strip_markdown(reply).splitlines() if (found := words(line))]
        if len(lines) != len(PATTERN):
            return self.failed(f"{len(lines)} lines, expected {len(PATTERN)}")
        counts = [sum(map(syllables, line)) for line in lines]
        shown = "-".join(map(str, counts))
        if any(abs(n - wanted) > TOLERANCE for n, wanted in zip(counts, PATTERN, strict=True)):
            return self.failed(f"{shown} syllables, expected 5-7-5")
        return self.passed(f"{shown} syllables in three lines")
